"""The work queue: a key is worked on by one worker at a time, and once more if it was added meanwhile.

Level-triggered: a key says that something about an object may have changed, not what. A failed key comes back after
1, 2, 4 … 300 seconds with jitter; an event brings it back at once.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Final, Generic, TypeVar

K = TypeVar("K")

RETRY_SECONDS_MIN: Final = 1.0
RETRY_SECONDS_MAX: Final = 300.0


class WorkQueue(Generic[K]):
    """Keys that wait for a worker, in the order in which they came. Belongs to one event loop.

    Args:
        jitter: Returns a factor from 0.5 to 1 for a retry's delay.
    """

    def __init__(self, *, jitter: Callable[[], float] | None = None) -> None:
        self._waiting: dict[K, float] = {}
        self._busy: set[K] = set()
        self._again: set[K] = set()
        self._timers: dict[K, asyncio.TimerHandle] = {}
        self._failures: dict[K, int] = {}
        self._filled = asyncio.Event()
        self._jitter = jitter or (lambda: random.uniform(0.5, 1.0))  # noqa: S311 - jitter

    @property
    def depth(self) -> int:
        """Number of keys that wait for a worker or are with one."""
        return len(self._waiting) + len(self._busy)

    @property
    def oldest_seconds(self) -> float:
        """Seconds that the oldest waiting key has waited."""
        if not self._waiting:
            return 0.0
        return asyncio.get_running_loop().time() - next(iter(self._waiting.values()))

    def add(self, key: K) -> None:
        """Ask for one more look at `key`, now."""
        if key in self._busy:
            self._again.add(key)
        elif key not in self._waiting:
            self._waiting[key] = asyncio.get_running_loop().time()
            self._filled.set()

    def add_after(self, key: K, seconds: float) -> None:
        """Ask for one more look at `key` after `seconds`; of several such wishes the earliest counts."""
        loop = asyncio.get_running_loop()
        timer = self._timers.get(key)
        if timer is not None:
            if timer.when() <= loop.time() + seconds:
                return
            timer.cancel()
        self._timers[key] = loop.call_later(seconds, self._due, key)

    async def get(self) -> K:
        """Wait for the next key; the caller must answer with `done`."""
        while not self._waiting:
            self._filled.clear()
            await self._filled.wait()
        key = next(iter(self._waiting))
        del self._waiting[key]
        self._busy.add(key)
        return key

    def done(self, key: K, *, failed: bool = False) -> None:
        """Give `key` back; a failed one is tried again later."""
        self._busy.discard(key)
        if failed:
            failures = self._failures.get(key, 0)
            self._failures[key] = failures + 1
            delay = min(RETRY_SECONDS_MIN * 2.0 ** min(failures, 30), RETRY_SECONDS_MAX)
            self.add_after(key, delay * self._jitter())
        else:
            self._failures.pop(key, None)
        if key in self._again:
            self._again.discard(key)
            self.add(key)

    def forget(self, key: K) -> None:
        """Drop what is remembered of a key whose object is gone."""
        self._failures.pop(key, None)
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()

    def _due(self, key: K) -> None:
        self._timers.pop(key, None)
        self.add(key)
