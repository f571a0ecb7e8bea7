"""The ServiceAccount that a model's pods run as when its manifest names none. It has no rights and no token."""

from __future__ import annotations

from lgos_contract.manifest import LanggraphModel
from lgos_operator.desired.metadata import metadata
from lgos_operator.resource import Object, Owner


def service_account(model: LanggraphModel, owner: Owner | None) -> Object:
    """Return the model's own ServiceAccount."""
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": metadata(model, model.metadata.name, owner),
        "automountServiceAccountToken": False,
    }
