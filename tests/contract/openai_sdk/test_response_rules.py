"""Every Response object of every transcript keeps the rules of the Open Responses schema, in each of its states."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support import judge
from support.response_rules import broken
from support.transcripts import FOLDER

STREAMS = sorted(FOLDER.glob("responses-*.sse"))
COMPLETED = json.loads(judge.data_lines((FOLDER / "responses-citation.sse").read_text())[-1])


@pytest.mark.parametrize("stream", STREAMS, ids=lambda path: path.stem)
def test_every_state_of_a_response_keeps_the_rules(stream: Path) -> None:
    events = [json.loads(line) for line in judge.data_lines(stream.read_text())]
    states = [event["response"] for event in events if "response" in event]

    assert len(states) >= 3
    assert [broken(state) for state in states] == [[]] * len(states)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"created_at": 1.5}, "created_at is 1.5"),
        ({"completed_at": 1.5}, "completed_at is no whole number"),
        ({"completed_at": None}, "completed without completed_at"),
        ({"temperature": None}, "temperature is None"),
        ({"store": None}, "store is None"),
        ({"output": [{"type": "reasoning"}]}, "no such item: reasoning"),
        (
            {"output": [{"type": "refusal", "content": None}]},
            "null at output[0].content",
        ),
        ({"usage": {"input_tokens": 1}}, "usage without cached_tokens"),
    ],
)
def test_a_broken_rule_is_found(change: dict[str, Any], said: str) -> None:
    response = COMPLETED["response"]

    assert broken(response) == []
    assert said in broken({**response, **change})


@pytest.mark.parametrize("key", sorted(COMPLETED["response"].keys() - {"user"}))
def test_a_missing_key_is_found(key: str) -> None:
    response = {name: value for name, value in COMPLETED["response"].items() if name != key}

    assert f"{key} is missing" in broken(response)
