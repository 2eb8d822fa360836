"""What `-o` takes and what it refuses."""

from __future__ import annotations

import pytest

from queuefs.errors import BadValue
from queuefs.settings import MIB, MountOptions, parse_options
from queuefs.values import LARGEST_MESSAGE_BYTES, MAX_SECONDS


def test_nothing_said_gives_the_defaults() -> None:
    assert parse_options([], allow_other=False) == MountOptions()
    assert MountOptions().lease == 300
    assert MountOptions().max_message_bytes == 64 * MIB


def test_options_may_be_listed_or_given_one_by_one() -> None:
    expected = MountOptions(debug=True, lease=1.5, max_message_bytes=7, fuse_options=frozenset({"noexec", "noatime"}))

    assert parse_options(["debug,lease=1.5", "max_message_bytes=7,noexec,noatime"], allow_other=False) == expected


@pytest.mark.parametrize("default", [True, False])
def test_the_last_word_about_other_users_counts(default: bool) -> None:  # noqa: FBT001 - a parameter of the test
    assert parse_options([], allow_other=default).allow_other is default
    assert not parse_options(["allow_other", "noallow_other"], allow_other=default).allow_other
    assert parse_options(["noallow_other,allow_other"], allow_other=default).allow_other


def test_words_of_fstab_that_are_true_anyway_pass() -> None:
    assert parse_options(["defaults,rw"], allow_other=False) == MountOptions()


@pytest.mark.parametrize(
    "text",
    [
        "0",
        "0.0",
        "-1",
        "nan",
        "inf",
        "1e3",
        "",
        "+1",
        " 1",
        "1 ",
        "1.",
        ".5",
        "\u0661",
        str(MAX_SECONDS + 1),
        "9" * 400,
    ],
)
def test_a_bad_lease_is_refused_by_name(text: str) -> None:
    with pytest.raises(BadValue, match=r"^lease="):
        parse_options([f"lease={text}"], allow_other=False)


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "1k", "", str(LARGEST_MESSAGE_BYTES + 1), "9" * 400])
def test_a_bad_limit_is_refused_by_name(text: str) -> None:
    with pytest.raises(BadValue, match=r"^max_message_bytes="):
        parse_options([f"max_message_bytes={text}"], allow_other=False)


def test_the_bounds_themselves_are_good() -> None:
    chosen = parse_options([f"lease={MAX_SECONDS},max_message_bytes={LARGEST_MESSAGE_BYTES}"], allow_other=False)

    assert (chosen.lease, chosen.max_message_bytes) == (MAX_SECONDS, LARGEST_MESSAGE_BYTES)


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ("nosuch", "not known"),
        ("ro", "read-only"),
        ("allow_root", "allow_other"),
        ("lease", "needs a value"),
        ("debug=1", "takes no value"),
        ("noexec=1", "takes no value"),
    ],
)
def test_an_option_is_refused_by_name_and_with_the_reason(option: str, reason: str) -> None:
    with pytest.raises(BadValue, match=f"mount option '{option}': .*{reason}"):
        parse_options([option], allow_other=False)
