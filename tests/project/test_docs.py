"""The pages say what the code says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from queuefs import errors
from queuefs.cli.exits import MEANINGS, Exit
from tests.support.reference import DOCS, PAGES, lifecycle_block

if TYPE_CHECKING:
    from pathlib import Path

ROOT = DOCS.parent
MARKDOWN = sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("systemd/*.md")])


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_page_is_fresh(name: str) -> None:
    assert (DOCS / name).read_text("utf-8") == PAGES[name](), "run: make docs"


def test_the_drawing_of_the_lifecycle_is_the_table() -> None:
    assert lifecycle_block() in (DOCS / "explanation" / "lifecycle.md").read_text("utf-8")


def test_every_exit_code_has_a_meaning() -> None:
    assert set(MEANINGS) == set(Exit)


def test_every_error_says_what_it_is() -> None:
    for error in vars(errors).values():
        if isinstance(error, type) and issubclass(error, errors.QueueFSError):
            assert re.fullmatch(r"[A-Z].*\.", error.__doc__ or ""), error


@pytest.mark.parametrize("page", MARKDOWN, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_within_the_project_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)", page.read_text("utf-8"))

    broken = [link for link in links if "://" not in link and not (page.parent / link).exists()]

    assert broken == []


def test_every_page_can_be_reached_from_the_index() -> None:
    index = (DOCS / "index.md").read_text("utf-8")
    pages = {str(page.relative_to(DOCS)) for page in DOCS.glob("**/*.md")} - {"index.md"}

    assert {page for page in pages if f"({page})" not in index} == set()


def test_every_dependency_has_its_reason() -> None:
    reasons = (DOCS / "explanation" / "dependencies.md").read_text("utf-8")
    names = re.findall(r'^  "([a-z0-9-]+)[\[>=]', (ROOT / "pyproject.toml").read_text("utf-8"), re.MULTILINE)

    assert names
    assert [name for name in names if f"[{name}]" not in reasons] == []
