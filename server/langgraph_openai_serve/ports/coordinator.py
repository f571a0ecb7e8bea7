"""`RunCoordinator`: at most one run at a time works on one operation.

A lease is granted or refused at once; nobody queues. It carries a fencing token that grows with every grant, so that a
store can tell a late holder from the present one. A coordinator that can no longer vouch for a lease calls `lose`, which
cancels the task that took it; every write of a checkpoint asks `check` first.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import time
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, Protocol
from uuid import UUID

from langgraph_openai_serve.errors import LeaseLost, RunBusy

_KEY_VERSION: Final = b"lgos-run-1"


@dataclass(frozen=True, slots=True)
class RunKey:
    """The identity of one operation; `digest` is also the checkpointer's thread id."""

    digest: str
    """64 hexadecimal characters."""
    model: str
    """For metrics only; it is part of the digest already."""


def run_key(scope: str, model: str, operation: UUID) -> RunKey:
    """Return the key of an operation: two scopes or two models never share one.

    Changing the digest breaks a rolling update, since old and new processes would not see each other's leases.
    """
    digest = hashlib.sha256(_KEY_VERSION)
    for part in (scope.encode(), model.encode(), operation.bytes):
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return RunKey(digest.hexdigest(), model)


class RunLease:
    """A granted lease, as its holder sees it; belongs to the task that made it.

    Args:
        key: What is leased.
        token: Fencing token: larger than those of all earlier leases of the key.
        deadline: `time.monotonic()` until which the lease can be relied on.
    """

    __slots__ = ("_task", "deadline", "key", "lost", "token")

    def __init__(self, key: RunKey, token: int, *, deadline: float = float("inf")) -> None:
        self.key = key
        self.token = token
        self.deadline = deadline
        self.lost = False
        self._task = asyncio.current_task()

    def check(self) -> None:
        """Refuse to go on without the lease.

        Raises:
            LeaseLost: It was lost, or its deadline has passed.
        """
        if self.lost or time.monotonic() >= self.deadline:
            raise LeaseLost(self.key.digest)

    def lose(self) -> None:
        """The lease is lost: cancel the holder's task, once."""
        if not self.lost:
            self.lost = True
            if self._task is not None:
                self._task.cancel()

    def absorb_cancellation(self) -> bool:
        """Take back the cancellation that `lose` asked for; from now on the lease cancels nobody.

        Returns:
            Whether the lease was lost and nobody else cancelled its holder, who should raise `LeaseLost` then.
        """
        task, self._task = self._task, None
        return self.lost and task is not None and task.uncancel() == 0


current_lease: Final[ContextVar[RunLease | None]] = ContextVar("lgos_current_lease", default=None)
"""The lease of the run that this context belongs to; what writes checkpoints reads it."""


class RunCoordinator(Protocol):
    """Hands out run leases."""

    def lease(self, key: RunKey) -> AbstractAsyncContextManager[RunLease]:
        """Hold the lease of `key` for the length of the context.

        Leaving the context frees the key whatever happens; a clean-up that fails never replaces the block's own outcome.

        Raises:
            RunBusy: Another run holds it.
            CoordinatorUnavailable: Nobody can say whether another run holds it.
            LeaseLost: Raised by leaving the context, when the lease was lost and nothing else ended the block.
        """
        ...


class InMemoryRunCoordinator:
    """Leases of one process; they end with it."""

    def __init__(self) -> None:
        self._held: set[str] = set()
        self._tokens = itertools.count(1)

    @asynccontextmanager
    async def lease(self, key: RunKey) -> AsyncGenerator[RunLease, None]:
        """Hold the lease of `key`.

        Raises:
            RunBusy: Another run holds it.
        """
        if key.digest in self._held:
            raise RunBusy
        self._held.add(key.digest)
        lease = RunLease(key, next(self._tokens))
        try:
            yield lease
        except asyncio.CancelledError:
            if lease.absorb_cancellation():
                raise LeaseLost(key.digest) from None
            raise
        finally:
            lease.absorb_cancellation()
            self._held.discard(key.digest)
        if lease.lost:
            raise LeaseLost(key.digest)
