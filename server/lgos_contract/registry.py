"""The model registry: one ConfigMap a namespace, one key a model, written by the operator.

The gateway routes by it, API pods register their model from it. It holds only what a user caused: no ready counts, no
pod names, nothing that changes by itself.
"""

from __future__ import annotations

import hashlib
import json
from enum import StrEnum
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field

REGISTRY_NAME: Final = "lgos-model-registry"
"""Name of the registry ConfigMap in every namespace that holds models."""
SCHEMA_VERSION: Final = 1
"""Version of an entry. Readers ignore fields they do not know and refuse a version they do not know."""


class ModelState(StrEnum):
    """Where a model is in its life, as the gateway needs to know it."""

    STARTING = "starting"
    """Accepted; its API was not available yet. Not listed, not routed."""
    SERVING = "serving"
    """Its API was available at least once. Listed and routed; a rollout never takes this back."""
    SUSPENDED = "suspended"
    """Stopped by its manifest. Not listed, not routed."""
    UNLISTED = "unlisted"
    """Runs, but its manifest keeps it from the gateway. Not listed, not routed."""


class RegistryEntry(BaseModel):
    """One model: everything an API pod needs to register it and the gateway needs to route to it."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    schema_version: int = SCHEMA_VERSION
    id: str
    """The public OpenAI `model`."""
    namespace: str
    name: str
    """`metadata.namespace` and `metadata.name` of the LanggraphModel."""
    description: str | None = None
    features: tuple[str, ...] = ()
    """Sorted `GraphFeature` values."""
    graph: str
    """`module:attribute` inside the image."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """Values laid over the defaults of the image's `ClientSettings`."""
    interrupt_retention_seconds: int | None = None
    """How long a run that paused for answers is kept; only of models that can pause."""
    unsupported_fields: str = "Reject"
    """`Reject` or `Ignore`: what happens to OpenAI request fields outside the subset."""
    base_url: str
    """Where the model's API answers inside the cluster, ending in `/v1`."""
    state: ModelState = ModelState.STARTING
    created: int
    """Unix seconds; the OpenAI model's `created`."""
    owned_by: str
    revision: str = ""
    """Digest of what a pod reads at start; a change of it rolls the pods."""

    def digest(self) -> str:
        """Return the revision that belongs to this entry: 16 hex digits over what a pod reads at start."""
        # Without what is not set: a field that a newer version adds must not roll pods that do not use it.
        read_at_start = self.model_dump(
            mode="json", exclude={"state", "revision", "base_url"}, exclude_none=True
        )
        text = json.dumps(read_at_start, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def registry_key(name: str) -> str:
    """Return the ConfigMap key, and so the mounted file name, of the model `name`."""
    return f"{name}.json"


def dump_entry(entry: RegistryEntry) -> str:
    """Serialise an entry; equal entries give equal text."""
    document = entry.model_dump(mode="json", exclude_none=True)
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def load_entry(text: str | bytes) -> RegistryEntry:
    """Parse the text of a registry key.

    Raises:
        ValueError: The text is no entry (pydantic's `ValidationError` is one), or its version is unknown.
    """
    entry = RegistryEntry.model_validate_json(text)
    if entry.schema_version != SCHEMA_VERSION:
        msg = f"registry entry '{entry.id}' has schema version {entry.schema_version}; this program reads {SCHEMA_VERSION}"
        raise ValueError(msg)
    return entry
