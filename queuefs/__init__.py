"""QueueFS: message queues as files."""

__version__ = "0.1.0"

__all__ = ["__version__"]
