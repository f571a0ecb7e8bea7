"""The set of requests that are running now: for draining, and for ending what outlives the drain."""

from __future__ import annotations

import asyncio

from langgraph_openai_serve.ports.observer import SHUTDOWN


class OpenRequests:
    """Tasks of the requests in progress on one event loop."""

    def __init__(self) -> None:
        self.draining = False
        """Whether the server is on its way out: not ready, but still answering."""
        self._tasks: set[asyncio.Task[object]] = set()
        self._idle = asyncio.Event()

    def __len__(self) -> int:
        return len(self._tasks)

    def enter(self) -> asyncio.Task[object]:
        """Count the current task as a request in progress, until `leave`."""
        task = asyncio.current_task()
        if task is None:
            msg = "a request needs a task"
            raise RuntimeError(msg)
        self._tasks.add(task)
        return task

    def leave(self, task: asyncio.Task[object]) -> None:
        """The request of `task` is over."""
        self._tasks.discard(task)
        if self.draining and not self._tasks:
            self._idle.set()

    async def drain(self, timeout_seconds: float, *, grace_seconds: float = 5.0) -> bool:
        """Wait for the requests in progress; cancel those that are left, and wait for their last words.

        Returns:
            Whether all of them ended by themselves.
        """
        self.draining = True
        if not self._tasks:
            return True
        self._idle.clear()
        if await self._ended_within(timeout_seconds):
            return True
        for task in tuple(self._tasks):
            task.cancel(SHUTDOWN)
        await self._ended_within(grace_seconds)
        return False

    async def _ended_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._idle.wait()
        except TimeoutError:
            return False
        return True
