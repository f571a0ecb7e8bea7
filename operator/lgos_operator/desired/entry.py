"""The model's entry of the registry, and the ConfigMap that holds all entries of a namespace."""

from __future__ import annotations

from lgos_contract.manifest import LanggraphModel
from lgos_contract.registry import REGISTRY_NAME, ModelState, RegistryEntry
from lgos_operator import names
from lgos_operator.desired.metadata import namespace_of
from lgos_operator.resource import Object


def registry_entry(
    model: LanggraphModel, *, created: int = 0, state: ModelState = ModelState.STARTING
) -> RegistryEntry:
    """Return the registry entry of a model.

    Args:
        model: The manifest.
        created: Unix seconds of the LanggraphModel's creation.
        state: Whether the gateway lists and routes the model.
    """
    namespace, name, spec = namespace_of(model), model.metadata.name, model.spec
    entry = RegistryEntry(
        id=model.model_id,
        namespace=namespace,
        name=name,
        description=spec.description,
        features=tuple(sorted(spec.features)),
        graph=spec.graph,
        settings=spec.settings,
        interrupt_retention_seconds=spec.retention_seconds,
        unsupported_fields=spec.unsupported_fields,
        base_url=names.base_url(namespace, name),
        state=state,
        created=created,
        owned_by=namespace,
    )
    return entry.model_copy(update={"revision": entry.digest()})


def registry_config_map(namespace: str, data: dict[str, str]) -> Object:
    """Return the registry ConfigMap of a namespace with the entries `data` (key to text)."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": REGISTRY_NAME,
            "namespace": namespace,
            "labels": {
                "app.kubernetes.io/name": "model-registry",
                "app.kubernetes.io/part-of": "lgos",
                names.MANAGED_BY: names.FIELD_MANAGER,
                "lgos.dev/registry": "true",
                "lgos.dev/shard": "00",
            },
        },
        "data": data,
    }
