"""The golden transcripts: which requests they answer, and how to write them anew.

`PYTHONPATH=tests .venv/bin/python -m support.transcripts` writes `tests/contract/openai_sdk/transcripts/*.sse` from the
application as it is; read the difference before committing it.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Final

from langgraph_openai_serve import GraphRegistry, LanggraphOpenaiServe
from support.adapted_graphs import adapted_configs
from support.graphs import Probe, configs
from support.mint import counting_mint
from support.serving import in_process
from support.tool_graphs import VERSION, tool_configs

FOLDER: Final = Path(__file__).parents[1] / "contract" / "openai_sdk" / "transcripts"
WEATHER: Final = {
    "name": "get_weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
}
CLOCK: Final = {"name": "get_time", "parameters": {"type": "object"}}
FLAT: Final = [{"type": "function", **WEATHER}, {"type": "function", **CLOCK}]
NESTED: Final = [
    {"type": "function", "function": WEATHER},
    {"type": "function", "function": CLOCK},
]
GRAPHS: Final = {
    "text": "two_tokens",
    "usage": "two_tokens",
    "two-calls": "two_calls",
    "text-then-call": "text_then_call",
    "cut-call": "cut_call",
    "refusal": "refuses",
    "refusal-after-text": "refuses_after_text",
    "length": "length_stop",
    "content-filter": "filtered",
    "status": "status",
    "failure": "fails_after_two",
    "failure-at-once": "fails_at_once",
    "empty": "empty",
    "citation": "cited",
    "custom-pair": "custom_tool",
    "web-search": "searches",
    "web-search-failed": "search_fails",
    "status-and-tools": "status_and_tools",
    "tool-then-function": "mixed",
    "server-tools": "parallel_tools",
    "server-tool-failure": "tool_breaks",
}
CUSTOM: Final = {"type": "custom", "name": VERSION}
SEARCH: Final = {"type": "web_search"}
SELECTED: Final = [CUSTOM, SEARCH]
FUNCTION: Final = {"type": "function", "name": "f", "parameters": {"type": "object"}}
SERVER_TOOLS: Final[dict[str, list[Any]]] = {
    "custom-pair": [CUSTOM],
    "web-search": [SEARCH],
    "web-search-failed": [SEARCH],
    "status-and-tools": [CUSTOM],
    "tool-then-function": [CUSTOM, FUNCTION],
    "server-tools": SELECTED,
    "server-tool-failure": SELECTED,
}
"""Which tools a scenario selects; only Responses can."""
ONE_API_ONLY: Final = {("responses", "usage"), *(("chat", name) for name in SERVER_TOOLS)}
"""Combinations that do not exist: Responses always has usage, and Chat cannot select server tools."""


def request(name: str) -> tuple[str, dict[str, Any]]:
    """Return path and body of a transcript's request."""
    api, _, scenario = name.partition("-")
    body: dict[str, Any] = {"model": GRAPHS[scenario], "stream": True}
    calls = "call" in scenario
    if api == "responses":
        body["input"] = "hi"
        if calls:
            body["tools"] = FLAT
        if scenario in SERVER_TOOLS:
            body["tools"] = SERVER_TOOLS[scenario]
        return "/responses", body
    body["messages"] = [{"role": "user", "content": "hi"}]
    if calls:
        body["tools"] = NESTED
    if scenario == "usage":
        body["stream_options"] = {"include_usage": True}
    return "/chat/completions", body


def names() -> list[str]:
    """All transcripts."""
    return [
        f"{api}-{scenario}"
        for api in ("chat", "responses")
        for scenario in GRAPHS
        if (api, scenario) not in ONE_API_ONLY
    ]


def served() -> GraphRegistry:
    """All fixture graphs, those that execute tools among them."""
    return GraphRegistry({**configs(Probe()), **tool_configs(), **adapted_configs()})


async def record(name: str) -> bytes:
    """Return what the application answers."""
    path, body = request(name)
    server = LanggraphOpenaiServe(served(), mint=counting_mint()).bind_openai_api()
    async with in_process(server.app) as client:
        answer = await client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    return answer.content


def main() -> None:
    """Write all transcripts."""
    FOLDER.mkdir(exist_ok=True)
    for name in names():
        (FOLDER / f"{name}.sse").write_bytes(asyncio.run(record(name)))


if __name__ == "__main__":
    main()
