"""`GET /v1/models` and `GET /v1/models/{model}`: rendered once, kept as bytes."""

from __future__ import annotations

import orjson

from langgraph_openai_serve.errors import ModelNotFound
from langgraph_openai_serve.graph.registry import GraphRegistry
from langgraph_openai_serve.web.transport import Receive, Scope, Send, send_error, send_json


class ModelList:
    """The ASGI application of the model list."""

    def __init__(self, registry: GraphRegistry) -> None:
        models = sorted(
            (model.listing() for model in registry), key=lambda listing: str(listing["id"])
        )
        self._body = orjson.dumps({"object": "list", "data": models})

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        """Answer one request."""
        await send_json(send, self._body)


class ModelDetail:
    """The ASGI application of one model; a model name may contain slashes."""

    def __init__(self, registry: GraphRegistry) -> None:
        self._bodies = {model.id: orjson.dumps(model.detail()) for model in registry}

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        """Answer one request."""
        name = scope["path_params"]["model"]
        body = self._bodies.get(name)
        if body is None:
            await send_error(send, ModelNotFound(name))
        else:
            await send_json(send, body)
