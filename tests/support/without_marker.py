"""One answer streamed twice where langchain-core streams for LangGraph's own handler only: `python -m support.without_marker MODEL`.

So it would be with a langchain-core whose private marker has another name, and a LangGraph that goes with it.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from abc import ABC

from langchain_core.language_models import chat_models
from langgraph.pregel._messages import StreamMessagesHandler

from langgraph_openai_serve import LanggraphOpenaiServe
from support.graphs import Probe, registry
from support.serving import in_process


class NewMarker(ABC):  # noqa: B024 - the marker has no methods
    """What LangChain now looks for."""


async def main(model: str) -> None:
    NewMarker.register(StreamMessagesHandler)
    chat_models._StreamingCallbackHandler = NewMarker  # type: ignore[attr-defined,assignment]  # an import of theirs
    app = LanggraphOpenaiServe(registry(Probe())).bind_openai_api().app
    body = {"model": model, "input": "hi", "stream": True}
    async with in_process(app) as client:
        for _ in range(2):
            sys.stdout.write((await client.post("/responses", json=body)).text)


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    asyncio.run(main(sys.argv[1]))
