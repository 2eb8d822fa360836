r"""Log lines as logfmt, ours and those of the libraries alike, with passwords blotted out.

One line per record, whatever is in it: a line break in a value is written as ``\n``, so that no value can forge a
record.
"""

from __future__ import annotations

import logging
import os
import re
import sys
from logging.handlers import WatchedFileHandler
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import structlog

from queuefs.registry import redacted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from structlog.typing import EventDict, Processor, WrappedLogger

#: The journal's priorities (sd-daemon(3)).
_PRIORITY = {"critical": 2, "error": 3, "warning": 4, "info": 6, "debug": 7}

#: Readable as it stands in logfmt; everything else is quoted.
_PLAIN = re.compile(r"[^\s\"=\\\x00-\x1f\x7f-\x9f]+")

_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"}

#: Fields that open a line, in this order; the rest follow as they were given.
_FIRST = ("timestamp", "level", "logger", "event")


def set_up(*, debug: bool, file: Path | None = None) -> None:
    """Send all log records of this process to *file*, or to stderr; the journal gets its own form.

    Raises:
        OSError: *file* can't be opened.
    """
    level = logging.DEBUG if debug else logging.INFO
    journal = file is None and _is_journal(sys.stderr)
    handler = _PrivateFileHandler(file) if file else logging.StreamHandler(sys.stderr)
    handler.setFormatter(_formatter(journal=journal))
    logging.basicConfig(level=level, handlers=[handler], force=True)
    logging.captureWarnings(capture=True)
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            *_WHO_AND_WHAT,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.make_filtering_bound_logger(level),  # a call below the level costs next to nothing
        cache_logger_on_first_use=True,
    )


def as_logfmt(fields: EventDict) -> str:
    """Return *fields* as one line."""
    return " ".join(_pairs(fields))


def _pairs(fields: EventDict) -> Iterator[str]:
    ordered = [key for key in _FIRST if key in fields]
    ordered += [key for key in fields if key not in _FIRST]
    for key in ordered:
        yield f"{key}={_quoted(str(fields[key]))}"


def _quoted(text: str) -> str:
    if _PLAIN.fullmatch(text):
        return text
    return '"' + "".join(_ESCAPES.get(char) or (char if char.isprintable() else _code(char)) for char in text) + '"'


def _code(char: str) -> str:
    return char.encode("unicode_escape", "surrogatepass").decode("ascii")


def redact(_logger: WrappedLogger, _method: str, fields: EventDict) -> EventDict:
    """Turn every value into text (a processor of structlog) and take the passwords out of it."""
    for key, value in fields.items():
        text = value if isinstance(value, str) else str(value)
        fields[key] = redacted(text) if "://" in text else text
    return fields


_WHO_AND_WHAT: list[Processor] = [structlog.stdlib.add_log_level, structlog.stdlib.add_logger_name]


def _formatter(*, journal: bool) -> logging.Formatter:
    render = _for_journal if journal else _for_file
    stamp: list[Processor] = [] if journal else [structlog.processors.TimeStamper(fmt="iso", utc=True)]
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[*_WHO_AND_WHAT, structlog.stdlib.ExtraAdder()],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            *stamp,
            structlog.processors.format_exc_info,
            redact,
            render,
        ],
    )


def _for_file(_logger: WrappedLogger, _method: str, fields: EventDict) -> str:
    return as_logfmt(fields)


def _for_journal(_logger: WrappedLogger, _method: str, fields: EventDict) -> str:
    return f"<{_PRIORITY.get(str(fields.get('level')), 6)}>{as_logfmt(fields)}"


def _is_journal(stream: TextIO) -> bool:
    """Tell whether *stream* is the one that the service manager connected to the journal (systemd.exec(5))."""
    try:
        there = os.fstat(stream.fileno())
    except (OSError, ValueError):  # closed, or not a real file
        return False
    return os.environ.get("JOURNAL_STREAM") == f"{there.st_dev}:{there.st_ino}"


class _PrivateFileHandler(WatchedFileHandler):
    """Appends to a file that its owner alone can read, and opens it anew when it has been rotated away."""

    def __init__(self, file: Path) -> None:
        super().__init__(file, encoding="utf-8", errors="backslashreplace")

    def _open(self) -> Any:
        return open_private(Path(self.baseFilename))


def open_private(file: Path) -> TextIO:
    """Open *file* for appending, made with mode 0600 if it is missing."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOCTTY
    return os.fdopen(os.open(file, flags, 0o600), "a", encoding="utf-8", errors="backslashreplace")
