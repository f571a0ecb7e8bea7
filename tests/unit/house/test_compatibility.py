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
FOLDERS = (
    ("openai_sdk", "test_*_client.py"),
    ("interrupts", "test_*.py"),
    ("background", "test_*.py"),
    ("hatchet", "test_*.py"),
)
"""Tests of what callers rely on; each of their files holds a promise."""

FIELD_FAULTS = [
    "agent_client_defaults",
    "assistant_null_content",
    "chunk_envelope",
    "chunked_oversize",
    "citation_both_protocols",
    "classifier_not_leaked",
    "content_type_and_done",
    "custom_pair_distinct_ids",
    "developer_role",
    "disconnect_cancels_the_run",
    "fails_midstream",
    "finish_reason_parity",
    "keepalive_comments_only",
    "lifecycle_text",
    "list_and_detail",
    "missing_result_streaming",
    "newest_package_takes_the_transcript_strictly",
    "oldest_package_takes_all_transcripts_strictly",
    "one_terminal_event",
    "output_index_text_then_call",
    "parallel_text_branches",
    "parallel_tool_call_index",
    "recursion_limit",
    "replay_with_nulls",
    "sequence_numbers_simple",
    "stream_headers",
    "stream_unknown_model",
    "temperature_refused",
    "terminal_output_matches_items",
    "tool_output_array",
    "trailing_slash_post",
    "two_text_parts",
    "unencodable_validation_input",
    "unicode_deltas",
    "unregistered_custom_tool",
    "usage_chunk_on_request",
]
"""What broke at people who run servers like this one; each is a test that a promise names."""


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
    ROWS,
    ids=[promise[:50] for promise, _ in ROWS],
)
def test_promise_is_held_by_tests_that_exist(promise: str, held_by: str) -> None:
    named = re.findall(r"`([^`]+)::([^`]+)`", held_by)
    assert len(named) == held_by.count("<br>") + 1, promise
    assert len(set(named)) == len(named), promise
    for file, name in named:
        assert name in names_in(file), f"{file} has no {name}"


@pytest.mark.parametrize("fault", FIELD_FAULTS)
def test_every_fault_from_the_field_is_behind_a_promise(fault: str) -> None:
    assert f"::test_{fault}`" in PAGE


@pytest.mark.parametrize(
    "file",
    sorted(
        file for folder in FOLDERS for file in (ROOT / "tests/contract" / folder[0]).glob(folder[1])
    ),
    ids=lambda f: f.name,
)
def test_every_file_of_sdk_tests_holds_promises(file: Path) -> None:
    assert f"`{file.relative_to(ROOT)}::" in PAGE
