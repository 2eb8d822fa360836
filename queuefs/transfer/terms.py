"""How an export is imported, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What whoever imports asks for."""

    #: Queues that are there already get the settings of the export.
    overwrite_config: bool = False
    #: Messages get ids of this store.
    renumber: bool = False
    #: The import of this export was begun before.
    resume: bool = False
    #: Messages in processing become pending.
    release: bool = False
    #: Everything is looked at, and nothing done.
    dry_run: bool = False


@dataclass(slots=True, kw_only=True)
class Imported:
    """What an import has done so far; it can be watched."""

    #: Queues that were made, and that were there.
    queues: int = 0
    known_queues: int = 0
    messages: int = 0
    #: Payload bytes of the messages.
    bytes: int = 0
    records: int = 0
    #: Messages that were there already.
    skipped: int = 0
    #: Of the messages: their payload is not what was put in, and they are dead.
    damaged: int = 0
    #: By how much the ids of this store are higher than those of the export.
    shift: int = 0

    def __str__(self) -> str:
        """Return it as a part of a sentence."""
        parts = [
            _counted(self.queues, "new queue"),
            _counted(self.messages, "message"),
            _counted(self.records, "record"),
        ]
        if self.skipped:
            parts.append(f"{_counted(self.skipped, 'message')} that had been there")
        text = ", ".join(parts)
        if self.damaged:
            text += f"; {self.damaged} of the messages {'is' if self.damaged == 1 else 'are'} damaged, and dead"
        return text + (f"; ids are {self.shift} higher" if self.shift else "")


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")
