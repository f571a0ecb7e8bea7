"""The compatibility page names tests that exist, and each promise once."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/reference/compatibility.md").read_text()
ROWS = re.findall(r"^\| (?!promise|---)(.+?) \| (.+) \|$", PAGE, re.MULTILINE)


def test_every_promise_stands_once() -> None:
    promises = [promise for promise, _ in ROWS]
    assert len(promises) > 40
    assert len(set(promises)) == len(promises)


@pytest.mark.parametrize(("promise", "held_by"), ROWS, ids=[promise[:50] for promise, _ in ROWS])
def test_promise_is_held_by_tests_that_exist(promise: str, held_by: str) -> None:
    named = re.findall(r"`([^`]+)::([^`]+)`", held_by)
    assert named, promise
    for file, name in named:
        tree = ast.parse((ROOT / file).read_text())
        functions = {
            node.name
            for node in tree.body
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        }
        assert name in functions, f"{file} has no {name}"
