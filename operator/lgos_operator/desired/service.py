"""The Service in front of a model's API pods."""

from __future__ import annotations

from lgos_contract.environment import API_PORT
from lgos_contract.manifest import LanggraphModel
from lgos_operator import names
from lgos_operator.desired.metadata import metadata
from lgos_operator.resource import Object, Owner


def api_service(model: LanggraphModel, owner: Owner | None) -> Object:
    """Return the Service of a model's API."""
    name = model.metadata.name
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(model, names.api_name(name), owner),
        "spec": {
            "type": "ClusterIP",
            "selector": names.selector(name),
            "ports": [{"name": "http", "port": API_PORT, "targetPort": "http", "protocol": "TCP"}],
        },
    }
