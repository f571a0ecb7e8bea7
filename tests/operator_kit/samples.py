"""Manifests and objects that the operator's tests start from."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

Object = dict[str, Any]


def manifest(name: str = "research", namespace: str = "team-a", **spec: Any) -> Object:
    """Return a LanggraphModel manifest whose pods no node can take, so that only the test moves them."""
    return {
        "apiVersion": "lgos.dev/v1alpha1",
        "kind": "LanggraphModel",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "image": "team-a/research:1.2",
            "graph": "research.graphs:config",
            "api": {"resources": {"requests": {"cpu": "9000"}}},
            **spec,
        },
    }


def stored(name: str = "research", namespace: str = "team-a", **changes: Any) -> Object:
    """Return a LanggraphModel as an API server holds it; `metadata` and `spec` are laid over."""
    obj = manifest(name, namespace, **changes.pop("spec", {}))
    obj["metadata"] |= {
        "uid": f"uid-{namespace}-{name}",
        "creationTimestamp": "2026-01-02T03:04:05Z",
        "generation": 1,
        "resourceVersion": "1",
        **changes.pop("metadata", {}),
    }
    return deepcopy(obj | changes)
