"""`InterruptBatch`: everything that a paused run waits for, shown and answered as a whole."""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langgraph.errors import GraphInterrupt
from langgraph.types import Interrupt, StateSnapshot

from langgraph_openai_serve.errors import InterruptRefused

SIBLINGS_SECONDS: Final = 10.0
"""How long a pause waits for tools that run beside the one that interrupted."""


@dataclass(frozen=True, slots=True)
class PendingInterrupt:
    """One question of a paused run."""

    id: str
    """LangGraph's id of the interrupt."""
    payload: str
    """JSON text."""


@dataclass(frozen=True, slots=True)
class InterruptBatch:
    """All questions of one pause."""

    state: str
    """64 hexadecimal characters that stand for this pause of this run; the next pause has others."""
    interrupts: tuple[PendingInterrupt, ...]

    @property
    def ids(self) -> frozenset[str]:
        """Ids of the questions."""
        return frozenset(pending.id for pending in self.interrupts)


def batch_of(snapshot: StateSnapshot) -> InterruptBatch | None:
    """Return what a thread waits for, or `None`.

    Raises:
        InterruptRefused: Two questions share an id, or a payload is no JSON.
    """
    interrupts = snapshot.interrupts
    if not interrupts:
        return None
    ids = [interrupt.id for interrupt in interrupts]
    if len(set(ids)) < len(ids):
        msg = "Two interrupts of the graph have the same id, so their answers could be mixed up."
        raise InterruptRefused(msg)
    checkpoint = snapshot.config.get("configurable", {}).get("checkpoint_id", "")
    state = hashlib.sha256("\n".join([checkpoint, *sorted(ids)]).encode()).hexdigest()
    pending = (PendingInterrupt(interrupt.id, _json(interrupt)) for interrupt in interrupts)
    return InterruptBatch(state, tuple(pending))


def _json(interrupt: Interrupt) -> str:
    try:
        return json.dumps(interrupt.value, allow_nan=False, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        kind = _culprit(interrupt.value)
        msg = f"The payload of the graph's interrupt is not JSON: it has a value of type {kind}."
        raise InterruptRefused(msg) from None


def _culprit(value: Any) -> str:
    """Return the name of the first type that JSON does not have."""
    if isinstance(value, str | int | None):
        return ""
    if isinstance(value, float):
        return "" if math.isfinite(value) else str(value)
    if not isinstance(value, dict | list | tuple):
        return type(value).__name__
    parts: list[Any] = list(value)
    if isinstance(value, dict):
        odd = next(
            (type(k).__name__ for k in value if not isinstance(k, str | int | float | None)), ""
        )
        if odd:
            return odd
        parts = list(value.values())
    try:
        return next(filter(None, map(_culprit, parts)), "")
    except RecursionError:
        return type(value).__name__


class ToolInterrupts(BaseCallbackHandler):
    """Notes which tools of a run interrupted.

    Tools that run in parallel inside one task share the task's numbering of interrupts: LangGraph reports the first one,
    and which tool gets its answer depends on who asks first the next time. Such a pause must not be shown.
    """

    run_inline = True
    ignore_llm = True
    ignore_chat_model = True
    ignore_chain = True
    ignore_retriever = True
    ignore_retry = True
    ignore_custom_event = True

    def __init__(self, *, siblings_seconds: float = SIBLINGS_SECONDS) -> None:
        self._siblings_seconds = siblings_seconds
        self._loop = asyncio.get_running_loop()
        self._open: set[UUID] = set()
        self._raised: list[str] = []
        self._idle = asyncio.Event()
        self._idle.set()

    def on_tool_start(self, *_args: Any, run_id: UUID, **_kwargs: Any) -> None:
        """Note a tool that began."""
        self._loop.call_soon_threadsafe(self._start, run_id)

    def on_tool_end(self, output: Any, *, run_id: UUID, **_kwargs: Any) -> None:  # noqa: ARG002 - LangChain's interface
        """Note a tool that returned."""
        self._loop.call_soon_threadsafe(self._end, run_id, ())

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **_kwargs: Any) -> None:
        """Note a tool that raised, an interrupt perhaps."""
        raised: Sequence[Interrupt] = ()
        if isinstance(error, GraphInterrupt) and error.args:
            raised = tuple(error.args[0])
        self._loop.call_soon_threadsafe(self._end, run_id, [one.id for one in raised])

    async def check(self, batch: InterruptBatch) -> None:
        """Refuse a pause whose answers could reach the wrong tool.

        Raises:
            InterruptRefused: Several tools of one task interrupted, or a tool beside one that did is still running.
        """
        await asyncio.sleep(0)
        if not self._raised:
            return
        try:
            async with asyncio.timeout(self._siblings_seconds):
                await self._idle.wait()
        except TimeoutError:
            msg = "A tool interrupted while another tool of the same node went on running; run each tool in its own task."
            raise InterruptRefused(msg) from None
        raised = Counter(self._raised)
        if any(count > 1 or one not in batch.ids for one, count in raised.items()):
            msg = "Several tools of one node interrupted at the same time, so their answers could be mixed up; run each tool in its own task."
            raise InterruptRefused(msg)

    def _start(self, run_id: UUID) -> None:
        self._open.add(run_id)
        self._idle.clear()

    def _end(self, run_id: UUID, raised: Sequence[str]) -> None:
        self._raised += raised
        self._open.discard(run_id)
        if not self._open:
            self._idle.set()
