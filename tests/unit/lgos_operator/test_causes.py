from __future__ import annotations

from typing import Any

import pytest

from lgos_operator.causes import pod_cause


def pod(
    name: str = "p", *, created: str = "2026-01-01T00:00:00Z", ready: bool = False, **container: Any
) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "creationTimestamp": created},
        "spec": {"containers": [{"name": "api", "image": "nowhere/graph:1"}]},
        "status": {
            "conditions": [{"type": "Ready", "status": str(ready)}],
            "containerStatuses": [{"name": "api", "image": "other", **container}],
        },
    }  # fmt: skip


def waiting(reason: str, message: str = "") -> dict[str, Any]:
    return {"state": {"waiting": {"reason": reason, "message": message}}}


def ended(**terminated: Any) -> dict[str, Any]:
    return {"state": {"running": {}}, "lastState": {"terminated": terminated}}


@pytest.mark.parametrize("reason", ["ErrImagePull", "ImagePullBackOff", "InvalidImageName"])
def test_all_ways_to_fail_at_an_image_are_one_stable_message(reason: str) -> None:
    found = pod_cause([pod(**waiting(reason, "changes each time"))])
    assert found is not None
    assert found.reason == "ImagePullBackOff"
    assert "'nowhere/graph:1'" in found.message
    assert "changes" not in found.message


def test_an_ended_container_tells_its_last_line_while_running_again() -> None:
    found = pod_cause(
        [pod(**ended(exitCode=1, reason="Error", message="a\nGraph is missing.\n\n"))]
    )
    assert found is not None
    assert found.reason == "CrashLoopBackOff"
    assert found.message.endswith("Graph is missing.")


def test_the_first_end_counts_too() -> None:
    found = pod_cause([pod(state={"terminated": {"exitCode": 3}})])
    assert found is not None
    assert "exit code 3" in found.message


def test_too_little_memory_is_named() -> None:
    found = pod_cause([pod(**ended(exitCode=137, reason="OOMKilled"))])
    assert found is not None
    assert "limits.memory" in found.message


def test_a_missing_secret_is_named() -> None:
    found = pod_cause([pod(**waiting("CreateContainerConfigError", 'secret "keys" not found'))])
    assert found is not None
    assert 'secret "keys" not found' in found.message


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (
            "0/3 nodes are available: 3 Insufficient cpu. preemption: 0/3 nodes",
            "(Insufficient cpu)",
        ),
        ("", "(no reason given)"),
    ],
)
def test_an_unschedulable_pod_is_told_without_counts(message: str, words: str) -> None:
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": message,
    }
    unplaced = {"metadata": {"name": "p"}, "spec": {}, "status": {"conditions": [condition]}}
    found = pod_cause([unplaced])
    assert found is not None
    assert found.reason == "Unschedulable"
    assert words in found.message


def test_a_starting_a_ready_and_a_leaving_pod_are_no_cause() -> None:
    leaving = pod(**waiting("ErrImagePull"))
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    done = pod(state={"terminated": {"exitCode": 0, "reason": "Completed"}})
    well = pod(ready=True, **ended(exitCode=1))
    ready_container = pod(**{**ended(exitCode=1), "ready": True})
    starting = pod(**waiting("ContainerCreating"))
    assert (
        pod_cause([leaving, done, well, ready_container, starting, {**starting, "status": {}}])
        is None
    )


def test_the_newest_pod_counts_first() -> None:
    old = pod("a", created="2026-01-01T00:00:00Z", **waiting("ErrImagePull"))
    new = pod("b", created="2026-01-02T00:00:00Z", **ended(exitCode=2))
    found = pod_cause([old, new])
    assert found is not None
    assert found.reason == "CrashLoopBackOff"


def test_an_init_container_is_looked_at_under_its_own_image() -> None:
    injected = pod()
    injected["status"]["initContainerStatuses"] = [
        {"name": "mesh", "image": "mesh:1", **waiting("ErrImagePull")}
    ]
    found = pod_cause([injected])
    assert found is not None
    assert "'mesh:1'" in found.message
