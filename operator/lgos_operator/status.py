"""The status of a LanggraphModel: conditions as in the Kubernetes API conventions, and what has to be written of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from lgos_operator.resource import Object

MESSAGE_MAX: Final = 1024


class ConditionType(StrEnum):
    """Types of conditions, in the order in which they are written."""

    ACCEPTED = "Accepted"
    API_AVAILABLE = "ApiAvailable"
    REGISTERED = "Registered"
    READY = "Ready"
    RECONCILING = "Reconciling"
    STALLED = "Stalled"


class ConditionStatus(StrEnum):
    """Values of a condition's `status`."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a check found: a condition without its type and times."""

    status: ConditionStatus
    reason: str
    message: str

    @property
    def is_true(self) -> bool:
        """Whether the condition holds."""
        return self.status is ConditionStatus.TRUE

    @property
    def is_false(self) -> bool:
        """Whether the condition does not hold; an unknown one is neither."""
        return self.status is ConditionStatus.FALSE


def holds(reason: str, message: str) -> Verdict:
    """Return the verdict True."""
    return Verdict(ConditionStatus.TRUE, reason, message)


def fails(reason: str, message: str) -> Verdict:
    """Return the verdict False."""
    return Verdict(ConditionStatus.FALSE, reason, message)


def pending(reason: str, message: str) -> Verdict:
    """Return the verdict Unknown."""
    return Verdict(ConditionStatus.UNKNOWN, reason, message)


def conditions(
    verdicts: Mapping[ConditionType, Verdict],
    *,
    previous: list[Object],
    generation: int,
    now: datetime,
) -> list[Object]:
    """Return the conditions of `verdicts`; a transition time moves only with the condition's status.

    Args:
        verdicts: The verdicts to write; a type that is missing is left out.
        previous: The conditions that the LanggraphModel has.
        generation: `metadata.generation` that the verdicts belong to.
        now: The time of a transition.
    """
    before = {condition.get("type"): condition for condition in previous}
    found = []
    for kind in ConditionType:
        verdict = verdicts.get(kind)
        if verdict is None:
            continue
        old = before.get(kind.value)
        same = old is not None and old.get("status") == verdict.status.value
        moved = old["lastTransitionTime"] if old is not None and same else _timestamp(now)
        found.append(
            {
                "type": kind.value,
                "status": verdict.status.value,
                "observedGeneration": generation,
                "reason": verdict.reason,
                "message": verdict.message[:MESSAGE_MAX],
                "lastTransitionTime": moved,
            }
        )
    return found


def find_condition(status: Object, kind: ConditionType) -> Object | None:
    """Return one condition of a LanggraphModel's status."""
    for condition in status.get("conditions") or ():
        if condition.get("type") == kind.value:
            return dict(condition)
    return None


def status_patch(old: Object, new: Object) -> Object:
    """Return the merge patch from `old` to `new` by whole top-level fields; empty when they are equal."""
    patch: Object = {field: value for field, value in new.items() if old.get(field) != value}
    patch.update({field: None for field in old if field not in new})
    return patch


def _timestamp(now: datetime) -> str:
    return now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
