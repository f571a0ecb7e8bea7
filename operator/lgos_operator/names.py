"""Names, labels and annotations of everything the operator writes. Selectors never change: Kubernetes forbids it."""

from __future__ import annotations

import re
from typing import Final

from lgos_contract.environment import API_PORT
from lgos_contract.manifest import API_VERSION, PLURAL

FIELD_MANAGER: Final = "lgos-operator"
HANDOVER_MANAGER: Final = "lgos-operator-handover"
"""Field manager that holds `replicas` until an autoscaler takes the field over."""
MANAGED_BY: Final = "app.kubernetes.io/managed-by"
MANAGED_SELECTOR: Final = f"{MANAGED_BY}={FIELD_MANAGER}"
"""Label selector of all objects that the operator owns."""
MODEL_LABEL: Final = "lgos.dev/model"
APPLIED_HASH: Final = "lgos.dev/applied-hash"
"""Annotation with the digest of the object as it was applied; an equal digest saves a request."""
CONFIG_HASH: Final = "lgos.dev/config-hash"
"""Annotation of the pod template with the registry entry's revision; a change of it rolls the pods."""
PAUSED: Final = "lgos.dev/paused"
"""Annotation of a LanggraphModel; `true` makes the operator write nothing of it."""
COMPONENT_API: Final = "api"
MODELS_PATH: Final = f"/apis/{API_VERSION}/{PLURAL}"

_NOT_LABEL = re.compile(r"[^A-Za-z0-9_.-]+")
_LABEL_MAX = 63
_DIGEST_DIGITS = 12


def api_name(name: str) -> str:
    """Return the name of a model's API Deployment and Service."""
    return f"{name}-api"


def base_url(namespace: str, name: str) -> str:
    """Return the URL of a model's API inside the cluster, ending in `/v1`."""
    return f"http://{api_name(name)}.{namespace}.svc:{API_PORT}/v1"


def selector(name: str, component: str = COMPONENT_API) -> dict[str, str]:
    """Return the labels that select a model's pods of one component."""
    return {
        "app.kubernetes.io/name": "langgraph-model",
        "app.kubernetes.io/instance": name,
        "app.kubernetes.io/component": component,
    }


def labels(name: str, image: str, component: str = COMPONENT_API) -> dict[str, str]:
    """Return the labels of an object that belongs to a model."""
    found = {
        **selector(name, component),
        "app.kubernetes.io/part-of": "lgos",
        MANAGED_BY: FIELD_MANAGER,
        MODEL_LABEL: name,
    }
    version = image_version(image)
    return {**found, "app.kubernetes.io/version": version} if version else found


def image_version(image: str) -> str:
    """Return the tag of an image, or the first digits of its digest, as a label value; empty without either."""
    rest, at, digest = image.partition("@")
    if at:
        version = digest.rpartition(":")[2][:_DIGEST_DIGITS]
    else:
        version = rest.rpartition("/")[2].partition(":")[2]
    return _NOT_LABEL.sub("-", version)[:_LABEL_MAX].strip("-_.")
