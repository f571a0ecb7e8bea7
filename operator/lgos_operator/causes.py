"""Why a pod does not become ready, in words that name the fix. Pure; ordered from what is surest."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from lgos_operator.checks import stable
from lgos_operator.resource import Object
from lgos_operator.status import Verdict, fails

_PULL_REASONS: Final = frozenset(
    {
        "ErrImagePull",
        "ImagePullBackOff",
        "InvalidImageName",
        "ErrImageNeverPull",
        "RegistryUnavailable",
        "ImageInspectError",
    }
)
_CONFIG_REASONS: Final = frozenset({"CreateContainerConfigError", "CreateContainerError"})
_LINE_MAX: Final = 600


def pod_cause(pods: Iterable[Object]) -> Verdict | None:
    """Return why pods are not ready; `None` while they may still become so.

    The newest pod counts first: an old revision's pods are not what keeps a rollout from ending.
    """
    for pod in sorted(pods, key=_age, reverse=True):
        if pod["metadata"].get("deletionTimestamp") or _is_ready(pod):
            continue
        found = _unschedulable(pod) or _container_cause(pod)
        if found is not None:
            return found
    return None


def _age(pod: Object) -> tuple[str, str]:
    metadata = pod["metadata"]
    return metadata.get("creationTimestamp") or "", metadata["name"]


def _conditions(pod: Object) -> dict[str, Object]:
    return {entry["type"]: entry for entry in (pod.get("status") or {}).get("conditions") or ()}


def _is_ready(pod: Object) -> bool:
    return bool(_conditions(pod).get("Ready", {}).get("status") == "True")


def _unschedulable(pod: Object) -> Verdict | None:
    scheduled = _conditions(pod).get("PodScheduled", {})
    if scheduled.get("status") != "False" or scheduled.get("reason") != "Unschedulable":
        return None
    text = scheduled.get("message", "").partition(" preemption:")[0]
    text = re.sub(r"^\d+/\d+ nodes are available: ?", "", text)
    text = re.sub(r"\b\d+ (?=[A-Za-z])", "", text).strip(" .")
    return fails(
        "Unschedulable",
        f"No node can take the pod ({text or 'no reason given'}): lower spec.api.resources or add a node.",
    )


def _containers(pod: Object) -> Iterator[Object]:
    status = pod.get("status") or {}
    yield from status.get("initContainerStatuses") or ()
    yield from status.get("containerStatuses") or ()


def _container_cause(pod: Object) -> Verdict | None:
    for container in _containers(pod):
        found = _waiting(pod, container) or _ended(container)
        if found is not None:
            return found
    return None


def _waiting(pod: Object, container: Object) -> Verdict | None:
    waiting = (container.get("state") or {}).get("waiting") or {}
    reason = waiting.get("reason", "")
    if reason in _PULL_REASONS:
        image = _image(pod, container)
        return fails(
            "ImagePullBackOff",
            f"The image '{image}' cannot be pulled: correct spec.image, or name a Secret with the registry's "
            "credentials in spec.imagePullSecrets.",
        )
    if reason in _CONFIG_REASONS:
        return fails(
            reason,
            f"The container '{container['name']}' cannot be created: {stable(waiting.get('message', reason))}. "
            "Create what is missing, or correct spec.env and spec.envFrom.",
        )
    return None


def _ended(container: Object) -> Verdict | None:
    """Look at how the container ended last: it alternates between running, ended and waiting."""
    if container.get("ready"):
        return None
    state = container.get("state") or {}
    last = container.get("lastState") or {}
    ended = state.get("terminated") or last.get("terminated")
    if not ended or (ended.get("exitCode") == 0 and ended.get("reason") == "Completed"):
        return None
    name = container["name"]
    if ended.get("reason") == "OOMKilled":
        return fails(
            "OOMKilled",
            f"The container '{name}' needs more memory than it may use: raise spec.api.resources.limits.memory.",
        )
    line = _last_line(ended.get("message", ""))
    if not line:
        line = f"it ended with exit code {ended.get('exitCode')}; see its log"
    return fails("CrashLoopBackOff", f"The container '{name}' does not start: {line}")


def _image(pod: Object, container: Object) -> str:
    for spec in pod["spec"].get("containers") or ():
        if spec["name"] == container["name"]:
            return str(spec["image"])
    return str(container.get("image", ""))


def _last_line(message: str) -> str:
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    return lines[-1][:_LINE_MAX] if lines else ""
