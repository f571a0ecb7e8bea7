"""What `lgos check` says of graphs that the examples do not have."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from langgraph_openai_serve.cli.check import check
from langgraph_openai_serve.errors import ConfigurationError

GRAPHS = '''
from typing import Any, TypedDict

from langgraph.graph import START, MessagesState, StateGraph

from langgraph_openai_serve import ClientSettings, GraphConfig


class Question(TypedDict):
    question: str


class NoFields(ClientSettings):
    """Nothing to choose."""


def graph_of(state):
    builder = StateGraph(state)
    builder.add_node("node", lambda state: {})
    builder.add_edge(START, "node")
    return builder.compile()


bare = graph_of(MessagesState)
other = graph_of(Question)
adapted = GraphConfig(
    graph=other,
    description="Asks.",
    request_to_input=lambda request, messages: {"question": messages[-1].text},
    output_to_message=lambda output: output["answer"],
    server_tools={"search", "clock"},
    client_settings=NoFields,
)
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(sys, "path", sys.path[:])
    (tmp_path / "checked_graphs.py").write_text(GRAPHS)
    yield tmp_path
    sys.modules.pop("checked_graphs", None)


def facts(target: str, folder: Path) -> dict[str, str]:
    rows = check(target, [folder]).splitlines()[1:]
    return {row[2:15].strip(): row[15:] for row in rows}


def test_bare_graph_is_told_to_need_a_description(folder: Path) -> None:
    found = facts("checked_graphs:bare", folder)
    assert found["description"] == "none: set spec.description in the manifest"
    assert found["input"] == '{"messages": [...]}'
    assert found["settings"] == "none"


def test_adapters_and_server_tools_are_named(folder: Path) -> None:
    found = facts("checked_graphs:adapted", folder)
    assert found["input"] == "request_to_input"
    assert found["output"] == "output_to_message"
    assert found["server tools"] == "clock, search"
    assert found["settings"] == "a class without fields"


def test_graph_that_cannot_take_messages_is_refused(folder: Path) -> None:
    with pytest.raises(
        ConfigurationError, match=r"has no 'messages'.* give the GraphConfig a request_to_input"
    ):
        check("checked_graphs:other", [folder])
