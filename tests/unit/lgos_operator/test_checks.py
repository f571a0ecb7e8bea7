from __future__ import annotations

from typing import Any

import pytest

from lgos_contract.manifest import LanggraphModel
from lgos_contract.registry import ModelState
from lgos_operator import checks
from lgos_operator.checks import Rollout, read_rollout
from lgos_operator.desired import registry_entry
from lgos_operator.status import ConditionStatus, ConditionType, Verdict, fails, holds, pending
from operator_kit.samples import manifest

ENTRY = registry_entry(LanggraphModel.model_validate(manifest()), state=ModelState.SERVING)
CAUSE = fails("ImagePullBackOff", "No image.")
SERVED = Rollout(
    exists=True, is_observed=True, wanted=2, replicas=2, updated=2, ready=2, available=2
)
ROLLING = Rollout(
    exists=True, is_observed=True, wanted=2, replicas=3, updated=1, ready=2, available=2
)
DOWN = Rollout(exists=True, is_observed=True, wanted=2, replicas=2, updated=2)
GOOD = holds("Registered", "Listed.")


def deployment(generation: int = 2, **status: Any) -> dict[str, Any]:
    return {"metadata": {"generation": generation}, "spec": {"replicas": 2}, "status": status}


def summed(rollout: Rollout, cause: Verdict | None = None, registered: Verdict = GOOD) -> Verdict:
    api = checks.api_available(rollout, cause, was_available=True)
    return checks.ready(
        accepted=checks.accepted(), api=api, registered=registered, rollout=rollout, cause=cause
    )


def test_a_deployment_that_does_not_exist_is_not_available() -> None:
    assert not read_rollout(None).is_available
    assert not read_rollout(None).is_complete


def test_a_deployment_is_read_from_its_status() -> None:
    found = read_rollout(
        deployment(
            observedGeneration=2,
            replicas=2,
            updatedReplicas=2,
            readyReplicas=2,
            availableReplicas=2,
        )
    )
    assert found == SERVED
    assert found.is_available
    assert found.is_complete


def test_an_unseen_generation_is_available_but_not_complete() -> None:
    found = read_rollout(
        deployment(3, observedGeneration=2, replicas=2, updatedReplicas=2, availableReplicas=2)
    )
    assert found.is_available
    assert not found.is_complete


def test_conditions_of_a_deployment_are_read() -> None:
    found = read_rollout(
        deployment(
            conditions=[
                {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"},
                {"type": "ReplicaFailure", "status": "True", "message": "exceeded quota: none"},
            ]
        )
    )
    assert found.deadline_exceeded
    assert found.refusal == "exceeded quota: none"
    healed = deployment(conditions=[{"type": "ReplicaFailure", "status": "False", "message": "x"}])
    assert read_rollout(healed).refusal == ""


@pytest.mark.parametrize(
    ("rollout", "cause", "was_available", "status", "reason"),
    [
        (SERVED, None, False, "True", "Available"),
        (ROLLING, CAUSE, True, "True", "Available"),
        (Rollout(exists=True, is_observed=True), None, False, "True", "ScaledToZero"),
        (Rollout(exists=True), None, False, "Unknown", "Pending"),
        (DOWN, CAUSE, True, "False", "ImagePullBackOff"),
        (DOWN, None, True, "False", "MinimumReplicasUnavailable"),
        (DOWN, None, False, "Unknown", "Pending"),
        (Rollout(exists=True, wanted=1, deadline_exceeded=True), None, False, "False", "ProgressDeadlineExceeded"),
        (Rollout(exists=True, wanted=1, refusal="exceeded quota: q"), None, False, "False", "QuotaExceeded"),
        (Rollout(exists=True, wanted=1, refusal="policy"), None, False, "False", "ReplicaFailure"),
    ],
)  # fmt: skip
def test_whether_the_api_answers(
    rollout: Rollout, cause: Verdict | None, was_available: bool, status: str, reason: str
) -> None:
    found = checks.api_available(rollout, cause, was_available=was_available)
    assert (found.status, found.reason) == (ConditionStatus(status), reason)


def test_a_model_is_registered_when_its_serving_entry_is_there() -> None:
    starting = ENTRY.model_copy(update={"state": ModelState.STARTING})
    full = fails("RegistryFull", "Full.")
    assert checks.registered(ENTRY, is_live=True, problem=None).is_true
    assert checks.registered(ENTRY, is_live=False, problem=None).reason == "Pending"
    assert checks.registered(starting, is_live=True, problem=None).reason == "Pending"
    assert checks.registered(ENTRY, is_live=True, problem=full) is full


@pytest.mark.parametrize(
    ("rollout", "cause", "registered", "status", "reason"),
    [
        (SERVED, None, GOOD, "True", "Ready"),
        (ROLLING, None, GOOD, "Unknown", "Reconciling"),
        (ROLLING, CAUSE, GOOD, "False", "ImagePullBackOff"),
        (DOWN, CAUSE, GOOD, "False", "ImagePullBackOff"),
        (SERVED, None, fails("RegistryFull", "Full."), "False", "RegistryFull"),
        (SERVED, None, pending("Pending", "Wait."), "Unknown", "Reconciling"),
    ],
)
def test_ready_sums_up(
    rollout: Rollout, cause: Verdict | None, registered: Verdict, status: str, reason: str
) -> None:
    found = summed(rollout, cause, registered)
    assert (found.status, found.reason) == (ConditionStatus(status), reason)


def test_a_first_start_is_unknown_not_false() -> None:
    api = checks.api_available(DOWN, None, was_available=False)
    found = checks.ready(
        accepted=checks.accepted(), api=api, registered=GOOD, rollout=DOWN, cause=None
    )
    assert (found.status, found.message) == (ConditionStatus.UNKNOWN, api.message)


def test_a_rollout_that_got_stuck_is_false_though_the_old_revision_answers() -> None:
    stuck = Rollout(True, True, 2, 3, 1, 2, 2, deadline_exceeded=True)
    assert summed(stuck).reason == "ProgressDeadlineExceeded"
    refused = Rollout(True, True, 2, 2, 0, 2, 2, refusal="exceeded quota: q")
    assert summed(refused).reason == "QuotaExceeded"


def test_reconciling_and_stalled_are_there_only_while_true() -> None:
    waiting = pending("Reconciling", "Wait.")
    stuck = Rollout(deadline_exceeded=True)
    assert checks.summary_pair(GOOD, rollout=SERVED, is_terminal=False) == {}
    assert set(checks.summary_pair(waiting, rollout=ROLLING, is_terminal=False)) == {
        ConditionType.RECONCILING
    }
    assert set(checks.summary_pair(CAUSE, rollout=stuck, is_terminal=False)) == {
        ConditionType.STALLED
    }
    assert set(checks.summary_pair(CAUSE, rollout=DOWN, is_terminal=True)) == {
        ConditionType.STALLED
    }


def test_messages_name_the_next_step() -> None:
    assert "team-a/first" in checks.name_conflict("m", ("team-a", "first")).message
    assert "spec.serviceAccountName" in checks.name_taken("ServiceAccount", "x").message
    assert "another name" in checks.name_taken("Service", "x").message
    assert checks.invalid_spec("Spec is bad.").reason == "InvalidSpec"
    assert checks.apply_refused("Deployment", "x", "exceeded quota: q").reason == "QuotaExceeded"
    assert checks.apply_refused("Deployment", "x", "denied").reason == "ApplyRefused"


def test_messages_hold_nothing_that_changes_by_itself() -> None:
    text = 'pods "x-api-7d9f-abcde" is forbidden: exceeded quota: none, requested: pods=1, used: pods=3,cpu=1, limited: pods=3'
    found = checks.stable(text)
    assert "abcde" not in found
    assert "used" not in found
    assert found.endswith("exceeded quota: none, requested: pods=1, limited: pods=3")
