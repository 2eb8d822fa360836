"""`queuefs mount` and `queuefs umount` on real mounts."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from queuefs.cli.exits import Exit
from queuefs.cli.mountpoint import daemon_of, is_dead
from tests.support.mount import PATIENCE, Mount, mounted

if TYPE_CHECKING:
    from tests.cli.conftest import Command


def ends(pid: int, number: signal.Signals = signal.SIGKILL) -> None:
    """Send *number* to a daemon and wait for its end."""
    handle = os.pidfd_open(pid)
    try:
        signal.pidfd_send_signal(handle, number)
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        assert poll.poll(PATIENCE * 1000)
    finally:
        os.close(handle)


# In the background -----------------------------------------------------------------------------------------------


def test_mount_returns_once_the_mount_answers_and_prints_nothing(queuefs: Command) -> None:
    done = queuefs.mount()

    assert (done.returncode, done.stdout, done.stderr) == (Exit.OK, "", "")
    (queuefs.mountpoint / "jobs").mkdir()
    assert (queuefs.mountpoint / "jobs" / "status").read_text() == '{"pending":0,"processing":0}\n'


def test_the_daemon_leaves_the_callers_session_directory_and_descriptors(queuefs: Command) -> None:
    queuefs.mount()
    pid = queuefs.daemon

    assert os.getsid(pid) == pid == os.getpgid(pid)
    assert Path(f"/proc/{pid}/cwd").readlink() == Path("/")
    standard = [Path(f"/proc/{pid}/fd/{number}").readlink() for number in (0, 1, 2)]
    assert standard == [Path("/dev/null"), Path("/dev/null"), queuefs.log]


def test_a_command_substitution_around_mount_ends(queuefs: Command) -> None:
    """The daemon must not keep the pipe open that its caller reads."""
    command = f'x=$({sys.executable} -m queuefs mount --backend memory: --log-file "$2" "$1" 2>&1); echo "<$x>"'

    done = subprocess.run(
        ["sh", "-c", command, "sh", queuefs.mountpoint, queuefs.log],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )

    assert done.stdout == "<>\n"


@pytest.mark.parametrize("closed", ["<&-", ">&- 2>&-", "<&- >&-", "<&- >&- 2>&-"])
def test_mount_returns_with_its_standard_descriptors_closed(queuefs: Command, closed: str) -> None:
    script = f'"$@" {closed}; echo $?'
    command: list[str | Path] = [sys.executable, "-m", "queuefs", "mount", "--backend", "memory:"]
    command += ["--log-file", queuefs.log]

    done = subprocess.run(
        ["bash", "-c", script, "bash", *command, queuefs.mountpoint], capture_output=True, check=False, timeout=PATIENCE
    )

    assert b"0\n" == done.stdout
    assert os.path.ismount(queuefs.mountpoint)


def test_an_empty_url_is_refused(queuefs: Command) -> None:
    done = queuefs.mount("--backend", "")

    assert (2, "queuefs: --backend: a URL is expected\n") == (done.returncode, done.stderr)


def test_a_password_in_the_environment_shows_in_no_argument_list_and_no_log(queuefs: Command) -> None:
    """The URL names a port that nobody listens on, so that its whole way into the messages is seen."""
    done = queuefs.mount(QUEUEFS_BACKEND="redis://user:hunter2@127.0.0.1:1/0?prefix=x")

    assert done.returncode == Exit.NO_STORE
    assert done.stderr.startswith("queuefs: ")
    assert done.stderr.count("\n") == 1
    assert "hunter2" not in done.stderr + queuefs.log.read_text()


def test_the_backend_of_the_environment_is_not_an_argument_of_the_daemon(queuefs: Command) -> None:
    queuefs.mount(QUEUEFS_BACKEND="memory:")

    assert b"memory:" not in Path(f"/proc/{queuefs.daemon}/cmdline").read_bytes()


def test_the_log_can_be_read_by_its_owner_alone(queuefs: Command) -> None:
    queuefs.mount()

    assert queuefs.log.stat().st_mode & 0o777 == 0o600
    assert "event=mounted" in queuefs.log.read_text()


def test_a_store_that_can_not_be_opened_is_one_line_and_an_exit_code(queuefs: Command) -> None:
    done = queuefs.mount("--backend", "nosuch:")

    assert done.returncode == Exit.NO_STORE
    assert done.stderr.startswith("queuefs: no back end is called 'nosuch'")
    assert done.stderr.count("\n") == 1


def test_ctrl_c_before_the_mount_answers_ends_the_daemon_too(queuefs: Command) -> None:
    """A server that takes a connection and says nothing keeps the daemon waiting."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(PATIENCE)
        url = f"redis://127.0.0.1:{server.getsockname()[1]}/0"
        command = [sys.executable, "-m", "queuefs", "mount", "--backend", url, "--log-file", str(queuefs.log)]
        with subprocess.Popen([*command, queuefs.mountpoint], stderr=subprocess.DEVNULL) as mounting:
            connection, _ = server.accept()
            mounting.send_signal(signal.SIGINT)
        server.close()
        with connection:
            while connection.recv(1000):  # until the daemon has ended
                pass

    assert "event=stopping signal=SIGTERM" in queuefs.log.read_text()
    assert not os.path.ismount(queuefs.mountpoint)


# In the foreground -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_the_daemon_in_front_and_unmounts(number: signal.Signals) -> None:
    with mounted() as mount:
        assert mount.stop(number) == Exit.OK
        assert not os.path.ismount(mount.path)


def test_sigint_ends_a_daemon_that_was_started_with_it_ignored(queuefs: Command) -> None:
    """A shell script starts with SIGINT ignored what it starts with `&`."""
    script = f"{sys.executable} -m queuefs mount -f --backend memory: --log-file $2 $1 & echo $!; wait $!"
    shell = subprocess.Popen(
        ["sh", "-c", script, "sh", queuefs.mountpoint, queuefs.log], stdout=subprocess.PIPE, text=True
    )
    with shell:
        assert shell.stdout is not None
        pid = int(shell.stdout.readline())
        while daemon_of(str(queuefs.mountpoint)) != pid:
            assert shell.poll() is None
            time.sleep(0.01)  # nothing tells a stranger that the mount is there
        os.kill(pid, signal.SIGINT)
        assert shell.wait(PATIENCE) == Exit.OK


def test_a_second_signal_ends_the_daemon_at_once() -> None:
    """A writer that does not close would be waited for."""
    with mounted() as mount:
        mount.expect_in_log("stopping at once")
        (mount.path / "jobs").mkdir()
        writer = os.open(mount.path / "jobs" / "enqueue", os.O_WRONLY)
        os.write(writer, b"x")
        os.kill(mount.pid, signal.SIGTERM)
        os.kill(mount.pid, signal.SIGINT)
        assert mount.wait() == Exit.OK
        with pytest.raises(OSError, match="not connected"):
            os.close(writer)


def test_sigusr1_writes_the_stacks_to_the_log() -> None:
    with mounted() as mount:
        os.kill(mount.pid, signal.SIGUSR1)
        mount.stop()
        assert "most recent call first" in mount.read_log()


# Dead mounts -----------------------------------------------------------------------------------------------------


def test_mount_clears_the_mount_of_a_daemon_that_died(queuefs: Command) -> None:
    queuefs.mount()
    ends(queuefs.daemon)
    assert is_dead(str(queuefs.mountpoint))

    assert queuefs.mount().returncode == Exit.OK
    assert os.listdir(queuefs.mountpoint) == [".queuefs"]


def test_mount_clears_a_dead_mount_that_a_program_still_stands_in(queuefs: Command) -> None:
    queuefs.mount()
    held = os.open(queuefs.mountpoint, os.O_RDONLY)
    try:
        ends(queuefs.daemon)
        assert queuefs.mount().returncode == Exit.OK
    finally:
        os.close(held)


def test_umount_takes_a_dead_mount_away(queuefs: Command) -> None:
    queuefs.mount()
    ends(queuefs.daemon)

    assert queuefs.umount().returncode == Exit.OK
    assert not os.path.ismount(queuefs.mountpoint)


# Umount ----------------------------------------------------------------------------------------------------------


def test_umount_returns_when_the_daemon_has_ended(queuefs: Command) -> None:
    queuefs.mount()
    daemon = os.pidfd_open(queuefs.daemon)

    done = queuefs.umount()

    assert (done.returncode, done.stdout, done.stderr) == (Exit.OK, "", "")
    assert not os.path.ismount(queuefs.mountpoint)
    ended, _, _ = select.select([daemon], [], [], 0)
    os.close(daemon)
    assert ended


def test_umount_of_a_mount_in_use_works(queuefs: Command) -> None:
    queuefs.mount()
    (queuefs.mountpoint / "jobs").mkdir()
    with subprocess.Popen(["cat"], cwd=queuefs.mountpoint / "jobs", stdin=subprocess.PIPE) as user:
        done = queuefs.umount()
        user.communicate()

    assert (done.returncode, done.stderr) == (Exit.OK, "")
    assert not os.path.ismount(queuefs.mountpoint)


def test_umount_follows_a_symlink(queuefs: Command) -> None:
    queuefs.mount()
    link = queuefs.base / "link"
    link.symlink_to(queuefs.mountpoint)

    assert queuefs("umount", link).returncode == Exit.OK


@pytest.mark.parametrize("name", ["mnt", "nosuch"])
def test_umount_of_what_is_no_mount_says_so(queuefs: Command, name: str) -> None:
    done = queuefs("umount", queuefs.base / name)

    assert done.returncode == Exit.NO_MOUNT_POINT
    assert done.stderr == f"queuefs: {queuefs.base / name} is not a mount of QueueFS\n"


def test_umount_of_a_queue_is_refused(queuefs: Command) -> None:
    queuefs.mount()
    (queuefs.mountpoint / "jobs").mkdir()

    assert queuefs("umount", queuefs.mountpoint / "jobs").returncode == Exit.NO_MOUNT_POINT


# Stores ----------------------------------------------------------------------------------------------------------


def test_a_second_daemon_on_one_sqlite_file_is_refused(queuefs: Command) -> None:
    url = f"sqlite://{queuefs.base}/queue.db"
    second = queuefs.base / "second"
    second.mkdir()
    queuefs.mount("--backend", url)

    done = queuefs("mount", "--backend", url, "--log-file", queuefs.base / "second.log", second)

    assert done.returncode == Exit.BUSY
    assert done.stderr.count("\n") == 1
    assert str(queuefs.base / "queue.db") in done.stderr


def test_messages_in_sqlite_outlive_the_daemon(queuefs: Command) -> None:
    url = f"sqlite://{queuefs.base}/queue.db"
    queuefs.mount("--backend", url)
    (queuefs.mountpoint / "jobs").mkdir()
    (queuefs.mountpoint / "jobs" / "enqueue").write_text("hello\n")
    ends(queuefs.daemon)

    assert queuefs.mount("--backend", url).returncode == Exit.OK
    assert (queuefs.mountpoint / "jobs" / "size").read_text() == "1\n"


def test_a_sqlite_file_below_the_mount_point_is_refused(queuefs: Command) -> None:
    """Also where a symlink hides it: the daemon would wait for itself."""
    link = queuefs.base / "link"
    link.symlink_to(queuefs.mountpoint)

    done = queuefs.mount("--backend", f"sqlite://{link}/queue.db")

    assert done.returncode == Exit.NO_STORE
    assert "below the mount point" in done.stderr


# Refusals --------------------------------------------------------------------------------------------------------


def test_a_directory_that_is_missing_is_refused(queuefs: Command) -> None:
    queuefs.mountpoint.rmdir()

    done = queuefs.mount()

    assert (done.returncode, done.stderr) == (
        Exit.NO_MOUNT_POINT,
        f"queuefs: there is no directory {queuefs.mountpoint}\n",
    )


def test_a_file_is_refused(queuefs: Command) -> None:
    queuefs.mountpoint.rmdir()
    queuefs.mountpoint.touch()

    done = queuefs.mount()

    assert (done.returncode, done.stderr) == (
        Exit.NO_MOUNT_POINT,
        f"queuefs: {queuefs.mountpoint} is not a directory\n",
    )


def test_a_directory_with_files_is_refused(queuefs: Command) -> None:
    (queuefs.mountpoint / "precious").touch()

    done = queuefs.mount()

    assert done.returncode == Exit.NO_MOUNT_POINT
    assert "is not empty" in done.stderr


def test_a_live_mount_is_not_mounted_over(queuefs: Command) -> None:
    queuefs.mount()

    done = queuefs.mount()

    assert done.returncode == Exit.BUSY
    assert done.stderr == f"queuefs: {queuefs.mountpoint} is mounted already (by process {queuefs.daemon})\n"


@pytest.mark.parametrize("options", ["lease=0", "ro", "nosuch", "max_message_bytes=0", "debug,lease"])
def test_bad_options_are_refused_before_anything_is_opened(queuefs: Command, options: str) -> None:
    done = queuefs.mount("-o", options)

    assert done.returncode == Exit.USAGE
    assert done.stderr.startswith("queuefs: ")
    assert not queuefs.log.exists()


def test_a_log_file_that_can_not_be_written_is_one_line(queuefs: Command) -> None:
    done = queuefs("mount", "--backend", "memory:", "--log-file", queuefs.base, queuefs.mountpoint)

    assert done.returncode == Exit.NOT_PERMITTED
    assert done.stderr == f"queuefs: {queuefs.base}: Is a directory\n"


@pytest.mark.parametrize("arguments", [["nosuch"], ["mount"], ["umount"], ["mount", "--nosuch", "x"]])
def test_a_wrong_command_line_is_code_2(queuefs: Command, arguments: list[str]) -> None:
    done = queuefs(*arguments)

    assert done.returncode == Exit.USAGE
    assert done.stdout == ""


# Options that take effect ------------------------------------------------------------------------------------------


def test_the_debug_option_logs_more(queuefs: Command) -> None:
    queuefs.mount("-o", "debug")

    assert "level=debug" in queuefs.log.read_text()


def test_options_of_fuse_are_passed_on() -> None:
    with mounted(options=["noatime,noexec"]) as mount:
        line = next(line for line in Path("/proc/mounts").read_text().splitlines() if str(mount.path) in line)

    assert {"noatime", "noexec"} <= set(line.split()[3].split(","))


def test_a_mount_that_was_killed_can_be_brought_back() -> None:
    """What the other mount tests rely on."""
    with mounted() as mount:
        mount.kill()
        assert is_dead(str(mount.path))
        mount.remount()
        assert os.listdir(mount.path) == [".queuefs"]


def test_a_complaint_in_the_log_fails_a_test() -> None:
    """What the other mount tests rely on."""
    mount = Mount("memory:")
    try:
        mount.log.write_text("timestamp=x level=warning event=oops\n")
        with pytest.raises(AssertionError, match="oops"):
            mount.check_log()
    finally:
        mount.clean_up()
