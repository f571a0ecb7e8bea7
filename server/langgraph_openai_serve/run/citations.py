"""Citations: from LangChain annotations on text blocks to spans of the whole answer.

A span counts characters of its own text block, and its end is the last character that belongs to it. It is checked
against the block, and against `cited_text` where the annotation has one; a bad span fails the run, because a client would
highlight the wrong words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from langchain_core.messages import AIMessage

from langgraph_openai_serve.errors import RunError

CITATION_TYPES: Final = frozenset({"citation", "url_citation"})


@dataclass(frozen=True, slots=True)
class Citation:
    """A source of a part of the answer; `start` and `end` count characters of the whole text, `end` inclusive."""

    url: str
    title: str
    start: int
    end: int


def citation_slice(annotation: Any, text: str) -> slice:
    """Return the slice of `text` that an annotation cites, so that `text[citation_slice(a, text)]` is the cited part.

    Args:
        annotation: A `url_citation` of Chat or Responses (SDK object or dict), or a LangChain citation.
        text: The text that the annotation belongs to.

    Raises:
        ValueError: The annotation has no span, or one outside the text.
    """
    inner = _field(annotation, "url_citation")
    span = annotation if inner is None else inner
    start, end = _field(span, "start_index"), _field(span, "end_index")
    if not _is_span(start, end, len(text)):
        msg = (
            f"the citation's span {start!r}..{end!r} is not inside a text of {len(text)} characters"
        )
        raise ValueError(msg)
    return slice(start, end + 1)


def citations_of(message: AIMessage) -> tuple[Citation, ...]:
    """Return the citations of a finished message, in the order of its blocks.

    Raises:
        RunError: A span does not fit its text.
    """
    if isinstance(message.content, str):
        return ()
    return tuple(_citations(message.content))


def _citations(blocks: list[Any]) -> Iterator[Citation]:
    offset = 0
    for block in blocks:
        if isinstance(block, str):
            offset += len(block)
            continue
        if block.get("type") != "text":
            continue
        text = block.get("text") or ""
        for annotation in block.get("annotations") or ():
            if annotation.get("type") in CITATION_TYPES and annotation.get("url"):
                yield _citation(annotation, text, offset)
        offset += len(text)


def _citation(annotation: Mapping[str, Any], text: str, offset: int) -> Citation:
    try:
        span = citation_slice(annotation, text)
    except ValueError as error:
        raise RunError(str(error)) from error
    cited = annotation.get("cited_text")
    if cited is not None and text[span] != cited:
        msg = f"a citation's span {span.start}..{span.stop - 1} does not hold its cited_text"
        raise RunError(msg)
    url = str(annotation["url"])
    return Citation(
        url, str(annotation.get("title") or url), offset + span.start, offset + span.stop - 1
    )


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def _is_span(start: Any, end: Any, length: int) -> bool:
    return type(start) is int and type(end) is int and 0 <= start <= end < length
