"""Runs an exchange: events into one body, or events into frames as they come."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from langgraph_openai_serve.errors import LgosError, RunCancelled
from langgraph_openai_serve.protocols.codec import Encoder, Exchange
from langgraph_openai_serve.run.events import RunEvent
from langgraph_openai_serve.run.executor import Run


async def collect(run: Run, exchange: Exchange) -> bytes:
    """Execute the run and return its whole answer.

    Raises:
        RunError: The run failed.
    """
    events: list[RunEvent] = []
    await run.execute(events.append, stream=False)
    return exchange.body(events)


async def stream(run: Run, encoder: Encoder, write: Callable[[bytes], None]) -> None:
    """Execute the run and write its frames; exactly one terminal frame is the last, whatever happens.

    Raises:
        asyncio.CancelledError: The task was cancelled; the failure frames are written.
    """

    def push(event: RunEvent) -> None:
        write(encoder.feed(event))

    write(encoder.start())
    try:
        await run.execute(push, stream=True)
    except asyncio.CancelledError:
        msg = "the run was cancelled"
        write(encoder.fail(RunCancelled(msg)))
        raise
    except LgosError as error:
        write(encoder.fail(error))
