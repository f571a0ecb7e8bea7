"""Reads a body strictly, or leniently for a model that ignores what it does not support."""

from __future__ import annotations

import orjson

from langgraph_openai_serve.errors import RequestError
from langgraph_openai_serve.graph.config import UnsupportedFields
from langgraph_openai_serve.graph.registry import GraphRegistry
from langgraph_openai_serve.wire.errors import RequestModel, parse
from langgraph_openai_serve.wire.lenient import parse_ignoring


def read(
    kind: type[RequestModel], raw: bytes, registry: GraphRegistry
) -> tuple[RequestModel, tuple[str, ...]]:
    """Return the request and the names of its ignored fields.

    Raises:
        RequestError: The body is wrong, also after what its model ignores was left out.
    """
    try:
        return parse(kind, raw), ()
    except RequestError:
        if not _ignores(raw, registry):
            raise
    return parse_ignoring(kind, raw)


def _ignores(raw: bytes, registry: GraphRegistry) -> bool:
    try:
        document = orjson.loads(raw)
    except ValueError:
        return False
    name = document.get("model") if isinstance(document, dict) else None
    model = registry.find(name) if isinstance(name, str) else None
    return model is not None and model.config.unsupported_fields is UnsupportedFields.IGNORE
