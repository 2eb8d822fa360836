"""Lets `python -m queuefs` be the command."""

from queuefs.cli import main

if __name__ == "__main__":
    main(prog_name="queuefs")
