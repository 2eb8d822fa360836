"""Moves what a store holds to another one, of whatever back end, as lines of JSON."""

from queuefs.transfer.contents import Progress
from queuefs.transfer.export import export
from queuefs.transfer.importer import Importer
from queuefs.transfer.terms import Imported, Terms

__all__ = ["Imported", "Importer", "Progress", "Terms", "export"]
