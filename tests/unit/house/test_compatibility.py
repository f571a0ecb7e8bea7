"""The compatibility page names tests that exist, and each promise once."""

from __future__ import annotations

import ast
import re
from collections.abc import Set
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/reference/compatibility.md").read_text()
ROWS = re.findall(r"^\| (?!promise|---)(.+?) \| (.+) \|$", PAGE, re.MULTILINE)
NEXT = "next: not in this release"
SECTION_OF_NEXT = "## Interrupts and background"
SDK_TESTS = ROOT / "tests/contract/openai_sdk"


@cache
def names_in(file: str) -> Set[str]:
    """The names of a file's test functions."""
    return {
        node.name
        for node in ast.parse((ROOT / file).read_text()).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
    }


def test_every_promise_stands_once() -> None:
    promises = [promise for promise, _ in ROWS]
    assert len(promises) > 120
    assert len(set(promises)) == len(promises)


@pytest.mark.parametrize(
    ("promise", "held_by"),
    [row for row in ROWS if row[1] != NEXT],
    ids=[promise[:50] for promise, held_by in ROWS if held_by != NEXT],
)
def test_promise_is_held_by_tests_that_exist(promise: str, held_by: str) -> None:
    named = re.findall(r"`([^`]+)::([^`]+)`", held_by)
    assert len(named) == held_by.count("<br>") + 1, promise
    assert len(set(named)) == len(named), promise
    for file, name in named:
        assert name in names_in(file), f"{file} has no {name}"


def test_only_interrupts_and_background_wait_for_the_next_release() -> None:
    before, after = PAGE.split(SECTION_OF_NEXT)
    assert f"| {NEXT} |" not in before
    assert f"| {NEXT} |" in after


@pytest.mark.parametrize("file", sorted(SDK_TESTS.glob("test_*_client.py")), ids=lambda f: f.name)
def test_every_file_of_sdk_tests_holds_promises(file: Path) -> None:
    assert f"`{file.relative_to(ROOT)}::" in PAGE
