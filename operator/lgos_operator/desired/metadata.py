"""Metadata that every object of a model carries: labels and the owner reference."""

from __future__ import annotations

from lgos_contract.manifest import API_VERSION, KIND, LanggraphModel
from lgos_operator import names
from lgos_operator.resource import Object, Owner

DEFAULT_NAMESPACE = "default"


def namespace_of(model: LanggraphModel) -> str:
    """Return the model's namespace; a file need not name one."""
    return model.metadata.namespace or DEFAULT_NAMESPACE


def metadata(model: LanggraphModel, name: str, owner: Owner | None) -> Object:
    """Return the metadata of the object `name` of a model.

    Args:
        model: The manifest.
        name: Name of the object.
        owner: Identity of the LanggraphModel; without it the object belongs to nobody.
    """
    found: Object = {
        "name": name,
        "namespace": namespace_of(model),
        "labels": names.labels(model.metadata.name, model.spec.image),
    }
    if owner is not None:
        found["ownerReferences"] = [
            {
                "apiVersion": API_VERSION,
                "kind": KIND,
                "name": model.metadata.name,
                "uid": owner.uid,
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ]
    return found
