"""The one place where measurements attach to runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol


class Api(StrEnum):
    """The OpenAI API that a run answers."""

    RESPONSES = "responses"
    CHAT_COMPLETIONS = "chat_completions"


class Mode(StrEnum):
    """How a run is answered."""

    SYNC = "sync"
    STREAM = "stream"
    BACKGROUND = "background"


class RunStatus(StrEnum):
    """How a run ended."""

    COMPLETED = "completed"
    INCOMPLETE = "incomplete"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"
    """It waits for the answers to an interrupt batch."""


class LeaseResult(StrEnum):
    """How a request for a run lease was settled."""

    OK = "ok"
    CONTENDED = "contended"
    ERROR = "error"


class LeaseRelease(StrEnum):
    """Why a run lease ended."""

    FINISHED = "finished"
    SHUTDOWN = "shutdown"
    LOST = "lost"


class RenewalResult(StrEnum):
    """What became of one lease when all leases of a process were renewed."""

    OK = "ok"
    LOST = "lost"
    ERROR = "error"


class LeaseWrite(StrEnum):
    """What a run without its lease tried to write."""

    CHECKPOINT = "checkpoint"
    WRITES = "writes"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class RunInfo:
    """What is known of a run before it starts; the fields are metric labels, so each has few values."""

    model: str
    api: Api
    mode: Mode


SHUTDOWN: Final = "shutdown"
"""Message of the cancellation that ends a run because its process stops."""


class RunObserver(Protocol):
    """Told about every run. Called on the event loop; must not block and must not raise."""

    def fields_ignored(self, model: str, fields: Sequence[str]) -> None:
        """Note request fields that a model ignored; paths such as `tools[1].strict`."""

    def run_created(self, run: RunInfo) -> None:
        """Note that a request was accepted; exactly one `run_ended` follows."""

    def first_output(self, run: RunInfo, seconds: float) -> None:
        """Note the seconds from creation to the first output of a streamed run."""

    def run_ended(self, run: RunInfo, status: RunStatus, seconds: float) -> None:
        """Note how the run ended, and the seconds since creation."""

    def lease_settled(self, model: str, result: LeaseResult) -> None:
        """Note that a lease was asked for; exactly one `lease_ended` follows an `ok`."""

    def lease_ended(self, model: str, release: LeaseRelease, seconds: float) -> None:
        """Note the end of a lease, and the seconds that it was held."""

    def lease_write_refused(self, model: str, write: LeaseWrite) -> None:
        """Note that a run without its lease was kept from writing."""


class LeaseObserver(Protocol):
    """Told by a coordinator about the leases of its process. Must not block and must not raise."""

    def leases_renewed(self, result: RenewalResult, leases: int) -> None:
        """Note what became of so many leases in one renewal."""

    def renewal_delayed(self, seconds: float) -> None:
        """Note the seconds between two successful renewals."""

    def lease_expired(self, model: str) -> None:
        """Note that a lease of somebody who is gone was taken over."""


class PauseObserver(Protocol):
    """Told now and then about runs that wait for answers. Must not block and must not raise."""

    def runs_paused(self, model: str, runs: float, oldest_seconds: float) -> None:
        """Note how many runs of a model wait, and for how long the oldest has; NaN when nobody knows."""


class SilentObserver:
    """Observes nothing."""

    def fields_ignored(self, model: str, fields: Sequence[str]) -> None:
        """Do nothing."""

    def run_created(self, run: RunInfo) -> None:
        """Do nothing."""

    def first_output(self, run: RunInfo, seconds: float) -> None:
        """Do nothing."""

    def run_ended(self, run: RunInfo, status: RunStatus, seconds: float) -> None:
        """Do nothing."""

    def lease_settled(self, model: str, result: LeaseResult) -> None:
        """Do nothing."""

    def lease_ended(self, model: str, release: LeaseRelease, seconds: float) -> None:
        """Do nothing."""

    def lease_write_refused(self, model: str, write: LeaseWrite) -> None:
        """Do nothing."""

    def leases_renewed(self, result: RenewalResult, leases: int) -> None:
        """Do nothing."""

    def renewal_delayed(self, seconds: float) -> None:
        """Do nothing."""

    def lease_expired(self, model: str) -> None:
        """Do nothing."""
