"""What is installed, and what lies where."""

from __future__ import annotations

import subprocess
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

import queuefs
from queuefs.registry import ENTRY_POINT_GROUP

ROOT = Path(__file__).parents[2]
BACKENDS = {path.name for path in ROOT.glob("backends/queuefs_*")}


@pytest.fixture(scope="module")
def project() -> dict[str, object]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


@pytest.fixture(scope="module")
def wheel() -> set[str]:
    """The names of the files that the wheel will hold."""
    return {file.distribution_path for file in WheelBuilder(str(ROOT)).recurse_included_files()}


def test_the_wheel_holds_all_that_is_not_python(wheel: set[str]) -> None:
    kinds = ("*.sql", "*.lua", "py.typed")
    queuefs_files = {str(path.relative_to(ROOT)) for kind in kinds for path in ROOT.glob(f"queuefs/**/{kind}")}
    backend_files = {
        str(path.relative_to(ROOT / "backends")) for kind in kinds for path in ROOT.glob(f"backends/**/{kind}")
    }

    assert queuefs_files | backend_files <= wheel
    assert {f"{name}/py.typed" for name in ("queuefs", *BACKENDS)} <= wheel


def test_the_wheel_holds_no_tests_and_nothing_else_at_its_top(wheel: set[str]) -> None:
    assert {name.partition("/")[0] for name in wheel} == {"queuefs", *BACKENDS}


def test_every_back_end_announces_itself() -> None:
    found = {entry.name: entry.value for entry in entry_points(group=ENTRY_POINT_GROUP)}

    assert found == {name.removeprefix("queuefs_"): f"{name}:open_backend" for name in BACKENDS}


def test_every_back_end_is_under_the_import_rules(project: dict[str, object]) -> None:
    rules = project["tool"]["importlinter"]  # type: ignore[index]

    assert set(rules["root_packages"]) == {"queuefs", *BACKENDS}
    independent = next(rule for rule in rules["contracts"] if rule["type"] == "independence")
    assert set(independent["modules"]) == BACKENDS


def test_the_command_is_installed() -> None:
    scripts = {entry.name: entry.value for entry in entry_points(group="console_scripts")}

    assert scripts["queuefs"] == "queuefs.cli:main"


def test_the_version_stands_in_one_place() -> None:
    assert f"## {queuefs.__version__} " in (ROOT / "docs" / "changelog.md").read_text("utf-8")


def test_the_top_level_is_short() -> None:
    listing = subprocess.run(
        ["git", "ls-tree", "--name-only", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    allowed = {"LICENSE", "Makefile", "README.md", "pyproject.toml", "backends", "docs", "queuefs", "systemd", "tests"}

    assert {name for name in listing.stdout.split() if not name.startswith(".")} <= allowed
