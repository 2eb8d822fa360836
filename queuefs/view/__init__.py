"""What a mount shows, read by plain file operations: for the commands that look at queues, and for `queuefs top`."""
