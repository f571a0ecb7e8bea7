"""Asking for background Responses through the SDK."""

from __future__ import annotations

from typing import Any

import openai
import pytest
from openai import AsyncOpenAI
from openai.types.responses import Response

from support.observing import becomes

MISSING = "resp_lg_" + "1" * 32 + "_" + "2" * 32


async def create(client: AsyncOpenAI, model: str, content: Any = "hi", **fields: Any) -> Response:
    """Create a background Response."""
    answered: Response = await client.responses.create(
        model=model, input=content, background=True, **fields
    )
    return answered


async def finished(
    client: AsyncOpenAI, response_id: str, seconds: float = 30, **fields: Any
) -> Response:
    """Poll until the Response is terminal."""
    responses: list[Response] = []

    async def terminal() -> bool:
        responses.append(await client.responses.retrieve(response_id, **fields))
        return responses[-1].status not in {"queued", "in_progress"}

    await becomes(terminal, seconds, step=0.05)
    return responses[-1]


async def refused(status: int, request: Any) -> Any:
    """Return the error object of a request that is refused."""
    with pytest.raises(openai.APIStatusError) as refusal:
        await request
    assert refusal.value.status_code == status
    error: Any = refusal.value.body
    return error
