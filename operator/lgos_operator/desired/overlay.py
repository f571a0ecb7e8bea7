"""Lays `spec.podTemplate` over the pod template that the platform makes.

Maps are merged, containers, volumes and variables by name, mounts by path; any other list is replaced. What may not be
overridden was refused when the manifest was read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lgos_contract.manifest import PodTemplate
from lgos_operator.resource import Object

_LIST_KEYS: Final = {
    "containers": "name",
    "initContainers": "name",
    "volumes": "name",
    "env": "name",
    "volumeMounts": "mountPath",
}


def overlaid(template: Object, overlay: PodTemplate | None) -> Object:
    """Return the pod template with the overlay on it; the platform's own labels and annotations stay."""
    if overlay is None:
        return template
    metadata = template["metadata"]
    return {
        "metadata": {
            "labels": {**overlay.metadata.labels, **metadata["labels"]},
            "annotations": {**overlay.metadata.annotations, **metadata["annotations"]},
        },
        "spec": _merged(
            template["spec"], overlay.spec.model_dump(mode="json") if overlay.spec else {}
        ),
    }


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> Object:
    found = dict(below)
    for field, value in above.items():
        old = found.get(field)
        if isinstance(value, Mapping) and isinstance(old, Mapping):
            found[field] = _merged(old, value)
        elif isinstance(value, list) and isinstance(old, list) and field in _LIST_KEYS:
            found[field] = _merged_list(old, value, _LIST_KEYS[field])
        else:
            found[field] = value
    return found


def _merged_list(below: list[Object], above: list[Object], key: str) -> list[Object]:
    """Merge by key; new items come last, in their own order."""
    found = {item[key]: item for item in below}
    for item in above:
        name = item.get(key)
        found[name] = _merged(found[name], item) if name in found else item
    return list(found.values())
