"""What `spec.podTemplate` of a LanggraphModel may not say, because the platform depends on it.

Pure: from the overlay's parts to a sentence for the user. Everything else is allowed; a field that Kubernetes does not
know is refused by the API server when the operator applies the pod.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from lgos_contract.environment import ENV_PREFIX

API_CONTAINER: Final = "api"
"""Name of the container that runs `lgos serve`."""
OWN_VOLUMES: Final = frozenset({"registry", "tmp"})
"""Volumes of the pod that an overlay cannot replace."""

_POD_FIELDS: Final = {
    "serviceAccountName": "set spec.serviceAccountName",
    "imagePullSecrets": "set spec.imagePullSecrets",
    "terminationGracePeriodSeconds": "set spec.api.terminationGracePeriodSeconds",
    "restartPolicy": "a Deployment's pods always restart",
    "enableServiceLinks": "their variables could collide with the platform's",
}
_CONTAINER_FIELDS: Final = {
    "image": "set spec.image",
    "imagePullPolicy": "set spec.imagePullPolicy",
    "command": "the platform starts the API",
    "args": "the platform starts the API",
    "ports": "the Service and the gateway rely on them",
    "envFrom": "set spec.envFrom",
    "resources": "set spec.api.resources",
    "lifecycle": "draining relies on it",
    "terminationMessagePath": "conditions are read from it",
    "terminationMessagePolicy": "conditions are read from it",
}
_RESERVED: Final = {"labels": ("app.kubernetes.io/", "lgos.dev/"), "annotations": ("lgos.dev/",)}


def forbidden_override(
    labels: Mapping[str, str], annotations: Mapping[str, str], pod: Mapping[str, Any]
) -> str | None:
    """Return what is wrong with an overlay as a sentence, or `None`.

    Args:
        labels: `metadata.labels` of the overlay.
        annotations: `metadata.annotations` of the overlay.
        pod: `spec` of the overlay.
    """
    return next(_problems(labels, annotations, pod), None)


def _problems(
    labels: Mapping[str, str], annotations: Mapping[str, str], pod: Mapping[str, Any]
) -> Iterator[str]:
    for where, names in (("labels", labels), ("annotations", annotations)):
        for name in names:
            if name.startswith(_RESERVED[where]):
                yield f"metadata.{where}: '{name}' belongs to the platform; choose another one"
    for field, advice in _POD_FIELDS.items():
        if field in pod:
            yield f"spec.{field} cannot be overridden: {advice}"
    for kind in ("containers", "initContainers", "volumes"):
        yield from _unnamed(pod, kind)
    for volume in _maps(pod, "volumes"):
        if volume.get("name") in OWN_VOLUMES:
            yield f"spec.volumes: the volume '{volume['name']}' belongs to the platform; choose another name"
    yield from _container_problems(pod)


def _unnamed(pod: Mapping[str, Any], kind: str) -> Iterator[str]:
    if kind not in pod:
        return
    items = pod[kind]
    if not isinstance(items, list) or not all(
        isinstance(item, Mapping) and isinstance(item.get("name"), str) for item in items
    ):
        yield f"spec.{kind} must be a list of objects with a name"
        return
    names = [item["name"] for item in items]
    if len(set(names)) != len(names):
        yield f"spec.{kind}: names must not repeat"


def _container_problems(pod: Mapping[str, Any]) -> Iterator[str]:
    where = f"spec.containers[{API_CONTAINER}]"
    for container in _maps(pod, "containers"):
        if container.get("name") != API_CONTAINER:
            continue
        for field, advice in _CONTAINER_FIELDS.items():
            if field in container:
                yield f"{where}.{field} cannot be overridden: {advice}"
        for variable in _maps(container, "env"):
            if str(variable.get("name", "")).startswith(ENV_PREFIX):
                yield f"{where}.env: the prefix {ENV_PREFIX} is reserved"
        for mount in _maps(container, "volumeMounts"):
            if mount.get("name") in OWN_VOLUMES:
                yield f"{where}.volumeMounts: the volume '{mount['name']}' belongs to the platform"


def _maps(holder: Mapping[str, Any], field: str) -> Iterator[Mapping[str, Any]]:
    found = holder.get(field)
    if isinstance(found, list):
        yield from (item for item in found if isinstance(item, Mapping))
