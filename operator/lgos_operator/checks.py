"""What is true of a model: pure checks from what the cache holds to a verdict for each condition.

Messages change only when the cause does: no counters, times or pod names, so that nothing is written while nothing
happens.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lgos_contract.registry import ModelState, RegistryEntry
from lgos_operator.resource import Key, Object
from lgos_operator.status import ConditionType, Verdict, fails, holds, pending


@dataclass(frozen=True, slots=True)
class Rollout:
    """State of a Deployment, as its own status tells."""

    exists: bool = False
    is_observed: bool = False
    """The Deployment controller has seen the newest spec."""
    wanted: int = 0
    replicas: int = 0
    updated: int = 0
    ready: int = 0
    available: int = 0
    deadline_exceeded: bool = False
    refusal: str = ""
    """Why pods cannot be created, from the condition ReplicaFailure."""

    @property
    def is_available(self) -> bool:
        """Whether the API answers, be it by pods of an old revision. Scaled to 0 on purpose counts."""
        return self.available > 0 or (self.is_observed and self.wanted == 0)

    @property
    def is_complete(self) -> bool:
        """Whether all wanted pods are of the newest revision and available, and no others are left."""
        counts = {self.replicas, self.updated, self.available}
        return self.is_observed and counts == {self.wanted}


def read_rollout(deployment: Object | None) -> Rollout:
    """Read a Deployment; `None` is one that does not exist yet."""
    if deployment is None:
        return Rollout()
    status = deployment.get("status") or {}
    by_type = {condition["type"]: condition for condition in status.get("conditions") or ()}
    failure = by_type.get("ReplicaFailure", {})
    progress = by_type.get("Progressing", {})
    generation = deployment["metadata"].get("generation") or 0
    return Rollout(
        exists=True,
        is_observed=(status.get("observedGeneration") or 0) >= generation > 0,
        wanted=deployment["spec"].get("replicas", 1),
        replicas=status.get("replicas") or 0,
        updated=status.get("updatedReplicas") or 0,
        ready=status.get("readyReplicas") or 0,
        available=status.get("availableReplicas") or 0,
        deadline_exceeded=progress.get("reason") == "ProgressDeadlineExceeded",
        refusal=failure.get("message", "") if failure.get("status") == "True" else "",
    )


def accepted() -> Verdict:
    """The manifest can be served."""
    return holds("Accepted", "The manifest is valid.")


def invalid_spec(sentence: str, *, is_override: bool = False) -> Verdict:
    """The CRD let the manifest pass, but LGOS cannot serve it, or cannot allow what it lays over the pods."""
    return fails("ForbiddenOverride" if is_override else "InvalidSpec", sentence)


def name_conflict(model_id: str, winner: Key) -> Verdict:
    """An older LanggraphModel has the same public name."""
    return fails(
        "ModelNameConflict",
        f"The model name '{model_id}' belongs to the older LanggraphModel {winner[0]}/{winner[1]}: "
        "give this one another spec.modelName in a new LanggraphModel, or delete the other one.",
    )


def name_taken(kind: str, name: str) -> Verdict:
    """An object that LGOS does not own is in the way of one that it needs."""
    advice = "delete it or give the LanggraphModel another name"
    if kind == "ServiceAccount":
        advice = "set spec.serviceAccountName to use it, delete it, or give the LanggraphModel another name"
    return fails(
        "NameTaken", f"A {kind} '{name}' exists and does not belong to this model: {advice}."
    )


def apply_refused(kind: str, name: str, message: str) -> Verdict:
    """The API server or an admission policy refused one of the model's objects."""
    reason = "QuotaExceeded" if "exceeded quota" in message else "ApplyRefused"
    return fails(reason, f"The {kind} '{name}' was refused: {stable(message)}")


def api_available(rollout: Rollout, cause: Verdict | None, *, was_available: bool) -> Verdict:
    """Whether the API answers.

    Args:
        rollout: State of the API Deployment.
        cause: What keeps its pods or itself from becoming available, when something does.
        was_available: Whether the API answered before.
    """
    if rollout.is_available:
        if rollout.wanted == 0:
            return holds("ScaledToZero", "No pod is wanted: the API answers no request.")
        return holds("Available", "The API answers.")
    if cause is not None:
        return cause
    if rollout.refusal:
        return _pods_refused(rollout)
    if rollout.deadline_exceeded:
        return fails(
            "ProgressDeadlineExceeded",
            "No pod became ready in time: see the pods' logs, then correct the image or the manifest.",
        )
    if was_available:
        return fails("MinimumReplicasUnavailable", "No pod of the API is ready.")
    return pending("Pending", "The API's pods are starting.")


def registered(wanted: RegistryEntry, *, is_live: bool, problem: Verdict | None) -> Verdict:
    """Whether the gateway knows the model.

    Args:
        wanted: The entry that the model should have.
        is_live: Whether the registry has it.
        problem: Why the registry could not be written.
    """
    if problem is not None:
        return problem
    if is_live and wanted.state is ModelState.SUSPENDED:
        return holds("NotRequested", "The gateway does not list the model: spec.suspend is true.")
    if is_live and wanted.state is ModelState.UNLISTED:
        return holds(
            "NotRequested", "The gateway does not list the model: spec.exposure.register is false."
        )
    if is_live and wanted.state is ModelState.SERVING:
        return holds("Registered", f"The gateway lists and routes the model '{wanted.id}'.")
    return pending("Pending", "The model is listed once its API was available for the first time.")


def ready(
    *,
    accepted: Verdict,
    api: Verdict,
    registered: Verdict,
    rollout: Rollout,
    cause: Verdict | None,
    is_suspended: bool = False,
) -> Verdict:
    """Sum the conditions up; a healthy rollout is unknown, not false."""
    for verdict in (accepted, api, registered):
        if verdict.is_false:
            return verdict
    if not (api.is_true and registered.is_true):
        first = api if not api.is_true else registered
        return pending("Reconciling", first.message)
    if rollout.is_complete:
        if is_suspended:
            return holds(
                "Suspended", "The model is suspended: set spec.suspend to false to serve it."
            )
        return holds("Ready", "The model is served.")
    if cause is not None:
        return cause
    if rollout.refusal:
        return _pods_refused(rollout)
    if rollout.deadline_exceeded:
        return fails(
            "ProgressDeadlineExceeded",
            "The new revision did not become ready in time; the old one still answers. "
            "See the new pods' logs, then correct the image or the manifest.",
        )
    return pending("Reconciling", "A rollout is in progress.")


def summary_pair(
    ready: Verdict, *, rollout: Rollout, is_terminal: bool
) -> dict[ConditionType, Verdict]:
    """Return Reconciling and Stalled, as kstatus reads them: each only while true.

    Args:
        ready: The verdict of the condition Ready.
        rollout: State of the API Deployment.
        is_terminal: Whether only a user's change can help.
    """
    if is_terminal or (ready.is_false and rollout.deadline_exceeded):
        return {ConditionType.STALLED: holds(ready.reason, ready.message)}
    if ready.is_true:
        return {}
    return {ConditionType.RECONCILING: holds(ready.reason, ready.message)}


def stable(message: str) -> str:
    """Remove from a message of Kubernetes what changes by itself: pod names and used amounts."""
    text = re.sub(r'\bpods? "[^"]+"', "pods", message)
    text = re.sub(r",? ?\bused: [^\s,]+(?:,[^\s,]+=[^\s,]+)*", "", text)
    return text.strip()


def _pods_refused(rollout: Rollout) -> Verdict:
    reason = "QuotaExceeded" if "exceeded quota" in rollout.refusal else "ReplicaFailure"
    return fails(reason, f"Pods cannot be created: {stable(rollout.refusal)}")
