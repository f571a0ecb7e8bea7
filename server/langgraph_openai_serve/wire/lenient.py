"""Reading a body for a model that ignores what it does not support (`unsupportedFields: Ignore`).

What a strict reading refuses as unknown, unsupported or not the accepted no-op value is taken out of the body, and the
rest is read again. Wrong values of supported fields stay errors, and so do content parts that carry what a person said:
leaving those out would answer another question.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import orjson
from pydantic import ValidationError

from langgraph_openai_serve.errors import RequestError
from langgraph_openai_serve.wire.errors import (
    RequestModel,
    fields_of,
    param_path,
    refuse_nul,
    refused,
)

ROUNDS_MAX: Final = 16
UNSUPPORTED: Final = frozenset({"extra_forbidden", "unsupported_parameter"})
NO_OP_FIELDS: Final = frozenset(
    {"include", "parallel_tool_calls", "response_format", "service_tier", "text", "truncation"}
)
"""Top-level fields that a strict reading takes with their no-op value only."""
DROPPABLE_LISTS: Final = frozenset({"tools", "input"})
"""Lists whose elements of an unknown type can be left out."""


def parse_ignoring(model: type[RequestModel], raw: bytes) -> tuple[RequestModel, tuple[str, ...]]:
    """Validate a body without what is not supported; return it and the names of what was left out.

    Raises:
        RequestError: Something else is wrong.
    """
    document = orjson.loads(raw)
    refuse_nul(document)
    ignored: set[str] = set()
    for _ in range(ROUNDS_MAX):
        try:
            return model.model_validate(document), tuple(sorted(ignored))
        except ValidationError as error:
            paths = [path for problem in error.errors() for path in _ignorable(problem)]
            if not paths:
                raise refused(error) from error
        # From the end: taking out an element moves those behind it.
        for path in sorted(set(paths), key=_order, reverse=True):
            if _take_out(document, path):
                ignored.add(param_path(path))
    msg = "The request has too many unsupported fields."
    raise RequestError(msg)


def _ignorable(problem: Any) -> Iterator[tuple[str | int, ...]]:
    path = fields_of(problem)
    if problem["type"] in UNSUPPORTED:
        yield path
    elif path and path[0] in NO_OP_FIELDS:
        yield path[:1]
    elif problem["type"] == "union_tag_invalid" and len(path) == 2 and path[0] in DROPPABLE_LISTS:
        yield path


def _order(path: tuple[str | int, ...]) -> tuple[tuple[int, int | str], ...]:
    return tuple((0, part) if isinstance(part, int) else (1, part) for part in path)


def _take_out(document: Any, path: tuple[str | int, ...]) -> bool:
    """Remove what a path leads to; false when it is gone already."""
    *way, last = path
    place = document
    try:
        for part in way:
            place = place[part]
        del place[last]
    except (KeyError, IndexError, TypeError):
        return False
    return True
