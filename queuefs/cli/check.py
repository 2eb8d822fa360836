"""`queuefs check`: looks a store over, and mends it if that is asked for."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

import click
import msgspec
from click.exceptions import Exit as Exited

from queuefs.checking import check as look_over
from queuefs.cli import stores
from queuefs.cli.exits import Exit

if TYPE_CHECKING:
    from queuefs.checking import Findings

_IN_USE = "unmount it first, or read .queuefs/check in its mount"

_UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


@click.command(short_help="Look a store over, and mend it.")
@stores.backend_option
@click.option("--repair", is_flag=True, help="Put right what can be put right, and look again.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead.")
def check(backend: str | None, *, repair: bool, as_json: bool) -> None:
    """Compare everything in a store with everything else, and read every payload.

    What is wrong is printed, a sentence a line, and then what was looked at. The last line is `ok` or `N problems`, and
    the exit code is 65 if there are problems. With --repair a damaged message becomes dead, so that nobody works on it
    unknowingly; what was done is printed as well, and the last line tells what is left.
    """
    url = stores.store_url(backend, must_exist=True)
    findings = stores.run(partial(_check, url, repair=repair), logged=logging.CRITICAL)
    click.echo(_as_json(findings) if as_json else _as_text(findings))
    if not findings.are_good:
        raise Exited(Exit.BAD_DATA)


async def _check(url: str, *, repair: bool) -> Findings:
    async with stores.opened(url, in_use=_IN_USE) as store, stores.shown_progress(lambda: "looking at the store"):
        return await look_over(store, repair=repair)


def _as_text(findings: Findings) -> str:
    lines = list(findings.problems)
    if findings.repairs:
        lines += [*findings.repairs, *(f"still: {problem}" for problem in findings.left)]
    lines.append(
        f"looked at {_counted(findings.queues, 'queue')} and {_counted(findings.messages, 'message')}, "
        f"{_size(findings.bytes)}, in {findings.seconds:.1f} s"
    )
    lines.append("ok" if findings.are_good else _counted(len(findings.left), "problem"))
    return "\n".join(line.replace("\n", " ") for line in lines)


def _as_json(findings: Findings) -> str:
    fields = {
        "ok": findings.are_good,
        "problems": findings.problems,
        "left": findings.left,
        "queues": findings.queues,
        "messages": findings.messages,
        "bytes": findings.bytes,
        "seconds": round(findings.seconds, 3),
    }
    if findings.repairs is not None:
        fields["repairs"] = findings.repairs
    return msgspec.json.encode(fields).decode()


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def _size(number: int) -> str:
    for unit, name in _UNITS:
        if number >= unit:
            return f"{number / unit:.1f} {name}"
    return f"{number} bytes"
