"""Finds out, once a process, whether text comes by callback with the installed langchain-core.

The marker that makes LangChain stream a model for a callback handler is private to langchain-core. A fake model is
invoked with the handler; where its text does not arrive, runs read LangGraph's `messages` stream instead.
"""

from __future__ import annotations

import logging
from typing import Final

from langchain_core.language_models import FakeListChatModel

from langgraph_openai_serve.run.callbacks import TextHandler

logger = logging.getLogger(__name__)

TEXT: Final = "ab"
_known: dict[type[TextHandler], bool] = {}


async def text_comes_by_callback(handler: type[TextHandler] = TextHandler) -> bool:
    """Return whether a streaming model hands its text to `handler`; asked once a process."""
    known = _known.get(handler)
    if known is None:
        texts: list[str] = []
        # This model streams a character at a time, and only when a handler makes LangChain stream it.
        model = FakeListChatModel(responses=[TEXT])
        await model.ainvoke("", {"callbacks": [handler(texts.append)]})
        known = _known[handler] = texts == list(TEXT)
        if not known:
            logger.warning("langchain-core streams no text to callbacks; using the messages stream")
    return known
