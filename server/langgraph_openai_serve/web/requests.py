"""The set of requests that are running now: for draining, and for ending what outlives the drain."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


class OpenRequests:
    """Tasks of the requests in progress on one event loop."""

    def __init__(self) -> None:
        self.draining = False
        """Whether the server is on its way out: not ready, but still answering."""
        self._tasks: set[asyncio.Task[object]] = set()
        self._idle = asyncio.Event()
        self._idle.set()

    def __len__(self) -> int:
        return len(self._tasks)

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Count the current task as a request in progress."""
        task = asyncio.current_task()
        if task is None:
            msg = "a request needs a task"
            raise RuntimeError(msg)
        self._tasks.add(task)
        self._idle.clear()
        try:
            yield
        finally:
            self._tasks.discard(task)
            if not self._tasks:
                self._idle.set()

    async def drain(self, timeout_seconds: float, *, grace_seconds: float = 5.0) -> bool:
        """Wait for the requests in progress; cancel those that are left, and wait for their last words.

        Returns:
            Whether all of them ended by themselves.
        """
        self.draining = True
        if await self._ended_within(timeout_seconds):
            return True
        for task in tuple(self._tasks):
            task.cancel()
        await self._ended_within(grace_seconds)
        return False

    async def _ended_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._idle.wait()
        except TimeoutError:
            return False
        return True
