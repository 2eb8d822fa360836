"""The time by which leases end."""

from __future__ import annotations

import pytest

from queuefs.clock import Clock, ThisMachine
from queuefs.testing import ManualMachine

DAY = 86_400.0


@pytest.fixture
def machine() -> ManualMachine:
    return ManualMachine(uptime=1000.0, wall=1_700_000_000.0)


def test_a_new_stores_time_is_the_wall_clocks(machine: ManualMachine) -> None:
    assert Clock(None, machine).now() == machine.wall()


def test_it_goes_on_with_the_machine(machine: ManualMachine) -> None:
    clock = Clock(None, machine)
    machine.pass_time(2.5)
    assert clock.now() == 1_700_000_002.5


@pytest.mark.parametrize("jump", [DAY, -DAY])
def test_a_jump_of_the_wall_clock_moves_nothing(machine: ManualMachine, jump: float) -> None:
    clock = Clock(None, machine)
    before = clock.now()
    machine.set_wall(machine.wall() + jump)
    assert clock.now() == before


@pytest.mark.parametrize("jump", [0.0, DAY, -DAY])
def test_a_restart_within_one_boot_goes_on_as_if_there_were_none(machine: ManualMachine, jump: float) -> None:
    mark = Clock(None, machine).mark()
    machine.pass_time(100.0)
    machine.set_wall(machine.wall() + jump)
    assert Clock(mark, machine).now() == mark.at + 100.0


def test_after_a_reboot_the_wall_clock_counts(machine: ManualMachine) -> None:
    mark = Clock(None, machine).mark()
    machine.pass_time(DAY)
    machine.reboot(uptime=20.0)
    assert Clock(mark, machine).now() == machine.wall()


def test_after_a_reboot_time_does_not_run_backwards(machine: ManualMachine) -> None:
    """A machine without a battery for its clock comes up in 1970; no lease grows by that."""
    mark = Clock(None, machine).mark()
    machine.reboot(uptime=5.0)
    machine.set_wall(0.0)
    clock = Clock(mark, machine)
    assert clock.now() == mark.at
    machine.pass_time(7.0)
    assert clock.now() == mark.at + 7.0


def test_what_is_left_of_a_lease_is_never_more_than_it_was(machine: ManualMachine) -> None:
    clock = Clock(None, machine)
    lease_until = clock.now() + 300.0
    machine.pass_time(100.0)
    mark = clock.mark()
    for wall in (machine.wall() - DAY, machine.wall(), machine.wall() + DAY):
        machine.reboot()
        machine.set_wall(wall)
        assert lease_until - Clock(mark, machine).now() <= 200.0


def test_a_mark_is_of_the_moment(machine: ManualMachine) -> None:
    clock = Clock(None, machine)
    machine.pass_time(10.0)
    mark = clock.mark()
    assert (mark.boot_id, mark.uptime, mark.at) == (machine.boot_id(), 1010.0, clock.now())


def test_a_moment_is_shown_by_the_wall_clock_as_it_stands(machine: ManualMachine) -> None:
    clock = Clock(None, machine)
    lease_until = clock.now() + 300.0
    machine.set_wall(machine.wall() + DAY)
    assert clock.to_wall(lease_until) == machine.wall() + 300.0
    machine.pass_time(100.0)
    assert clock.to_wall(lease_until) == machine.wall() + 200.0


def test_this_machine_has_these_clocks() -> None:
    machine = ThisMachine()
    assert len(machine.boot_id()) == 36
    assert machine.boot_id() == machine.boot_id()
    assert 0 < machine.uptime() <= machine.uptime()
    assert machine.wall() > 1_600_000_000
