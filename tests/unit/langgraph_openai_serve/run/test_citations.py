from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from langgraph_openai_serve.errors import RunError
from langgraph_openai_serve.run.citations import Citation, citation_slice, citations_of

TEXT = "Paris is the capital."
SPAN = {"start_index": 0, "end_index": 4}


def annotated(text: str, **annotation: Any) -> dict[str, Any]:
    return {"type": "text", "text": text, "annotations": [{"type": "citation", **annotation}]}


@pytest.mark.parametrize(
    "annotation",
    [
        {"type": "url_citation", **SPAN},
        {"type": "url_citation", "url_citation": SPAN},
        SimpleNamespace(start_index=0, end_index=4),
    ],
)
def test_slice_is_the_cited_part(annotation: Any) -> None:
    assert TEXT[citation_slice(annotation, TEXT)] == "Paris"


@pytest.mark.parametrize(
    ("start", "end"), [(0, len(TEXT)), (-1, 2), (3, 2), (None, 2), (0, None), (True, 2), (0.0, 2)]
)
def test_span_outside_the_text_is_an_error(start: Any, end: Any) -> None:
    with pytest.raises(ValueError, match="not inside"):
        citation_slice({"start_index": start, "end_index": end}, TEXT)


def test_spans_count_from_the_beginning_of_the_answer() -> None:
    blocks: list[Any] = [
        "\U0001f30d",
        {"type": "reasoning", "text": "not shown"},
        annotated("See ", url="https://a", start_index=0, end_index=2, title="A"),
        annotated(TEXT, url="https://b", cited_text="Paris", **SPAN),
        annotated("no url", **SPAN),
        {"type": "text", "text": "x", "annotations": [{"type": "file_citation", "url": "u"}]},
        {"type": "text", "text": None, "annotations": None},
    ]

    assert citations_of(AIMessage(content=blocks)) == (
        Citation("https://a", "A", 1, 3),
        Citation("https://b", "https://b", 5, 9),
    )
    assert citations_of(AIMessage(content="plain")) == ()


@pytest.mark.parametrize("wrong", [{"cited_text": "London"}, {"end_index": 99}])
def test_bad_span_fails_the_run(wrong: dict[str, Any]) -> None:
    message = AIMessage(content=[annotated(TEXT, url="u", **{**SPAN, **wrong})])

    with pytest.raises(RunError, match="span"):
        citations_of(message)
