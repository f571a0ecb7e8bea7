"""The one place where measurements attach to runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class Api(StrEnum):
    """The OpenAI API that a run answers."""

    RESPONSES = "responses"
    CHAT_COMPLETIONS = "chat_completions"


class Mode(StrEnum):
    """How a run is answered."""

    SYNC = "sync"
    STREAM = "stream"


class RunStatus(StrEnum):
    """How a run ended."""

    COMPLETED = "completed"
    INCOMPLETE = "incomplete"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class RunInfo:
    """What is known of a run before it starts; the fields are metric labels, so each has few values."""

    model: str
    api: Api
    mode: Mode


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
