"""The mount: what the kernel asks, translated into calls of the service."""
