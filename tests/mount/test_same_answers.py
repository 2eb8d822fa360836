"""One script of file operations, the same answers on all three back ends."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest  # noqa: TC002 - a fixture's type is looked up at run time

from tests.mount.conftest import BACKENDS, store_url
from tests.support.mount import mounted
from tests.support.programs import sh

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = r"""
exec 2>&1
mkdir jobs jobs/email 'odd name' -- -x
echo one > jobs/enqueue; echo $?
printf two >> jobs/enqueue; echo $?
head -c 100000 /dev/zero | tr '\0' z > jobs/enqueue; echo $?
printf '\377\0' > jobs/enqueue
echo mail > jobs/email/enqueue
cat jobs/status jobs/size jobs/peek
cat jobs/dequeue
cat jobs/dequeue
head -c 10 jobs/dequeue; echo
cat jobs/status
cat jobs/messages | cut -c1-300
echo 2.1 > jobs/nack; echo $?
cat jobs/dequeue
echo 2.1 > jobs/ack; echo $?
echo 2.2 > jobs/extend; echo $?
echo 2.2 > jobs/ack; echo $?
echo 2 > jobs/ack; echo $?
echo 3 > jobs/ack; echo $?
echo x > jobs/ack; echo $?
echo 5 > jobs/ack; echo $?
printf '1\n999\n' > jobs/ack; echo $?
cat jobs/status jobs/email/status
rmdir jobs; echo $?
rm jobs/enqueue; echo $?
touch jobs/x; echo $?
mkdir jobs/enqueue; echo $?
mkdir jobs/wait; echo $?
mv jobs work; echo $?
cat work/status work/email/peek
: > work/clear; cat work/status
mkdir other; mv -T other work; echo $?
cat work/email/dequeue > /dev/null; cat work/email/status
rmdir work/email; echo $?
echo 5 > work/email/ack; rmdir work/email work; echo $?
cat nowhere/status; echo $?
cat work/enqueue,x; echo $?
ls -l | cut -c1-10,48-
"""

#: What differs from run to run: times.
VARYING = re.compile(r'"(enqueued_at|lease_until)":[0-9.]+|[A-Z][a-z]{2} +[0-9]+ [0-9:]+')


def answers(kind: str, request: pytest.FixtureRequest, directory: Path) -> str:
    with mounted(store_url(kind, request, directory)) as mount:
        return VARYING.sub("TIME", sh(SCRIPT, mount.path).stdout)


def test_the_same_script_gives_the_same_answers(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    (tmp_path / "same-answers").mkdir()
    memory, *others = (answers(kind, request, tmp_path / "same-answers") for kind in BACKENDS)

    assert '{"pending":3,"processing":1}' not in memory
    assert '{"pending":2,"processing":2}' in memory
    for other in others:
        assert memory == other
