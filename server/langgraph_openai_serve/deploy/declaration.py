"""What a deployment says about one model, whether it was read from a registry entry or from a manifest."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self

from langgraph_openai_serve.errors import ConfigurationError
from langgraph_openai_serve.graph.config import (
    GraphConfig,
    GraphFeature,
    UnsupportedFields,
)
from langgraph_openai_serve.graph.registry import ModelInfo
from lgos_contract.manifest import LanggraphModel
from lgos_contract.registry import RegistryEntry

DEFAULT_NAMESPACE: Final = "default"


@dataclass(frozen=True, slots=True)
class Declaration:
    """One model as it was declared; the graph is only named."""

    id: str
    """The public OpenAI `model`."""
    graph: str
    """`module:attribute`."""
    info: ModelInfo
    description: str | None = None
    features: frozenset[str] = frozenset()
    settings: Mapping[str, Any] = field(default_factory=dict)
    unsupported_fields: str = UnsupportedFields.REJECT

    @classmethod
    def from_entry(cls, entry: RegistryEntry) -> Self:
        """Return what a registry entry declares."""
        return cls(
            id=entry.id,
            graph=entry.graph,
            info=ModelInfo(entry.created, entry.owned_by, entry.interrupt_retention_seconds),
            description=entry.description,
            features=frozenset(entry.features),
            settings=entry.settings,
            unsupported_fields=entry.unsupported_fields,
        )

    @classmethod
    def from_manifest(cls, model: LanggraphModel, *, created: int) -> Self:
        """Return what a manifest declares.

        Args:
            model: The manifest.
            created: Unix seconds that discovery shows.
        """
        spec = model.spec
        return cls(
            id=model.model_id,
            graph=spec.graph,
            info=ModelInfo(
                created,
                model.metadata.namespace or DEFAULT_NAMESPACE,
                spec.retention_seconds,
            ),
            description=spec.description,
            features=frozenset(spec.features),
            settings=spec.settings,
            unsupported_fields=spec.unsupported_fields,
        )

    def over(self, config: GraphConfig, *, is_bare: bool) -> GraphConfig:
        """Return `config` with what the declaration says laid over it.

        Args:
            config: What the image has.
            is_bare: Whether the image has only a graph, so that nothing but the declaration can name features.

        Raises:
            ConfigurationError: The declaration and the image do not fit.
        """
        return dataclasses.replace(
            config,
            description=self._description(config),
            features=self._features(config, is_bare=is_bare),
            settings_overrides={**config.settings_overrides, **self.settings},
            unsupported_fields=self._unsupported_fields(),
        )

    def _description(self, config: GraphConfig) -> str:
        description = self.description or config.description
        if not description.strip():
            msg = (
                f"model '{self.id}' has no description: set spec.description in the manifest"
                f" or description in the GraphConfig of '{self.graph}'"
            )
            raise ConfigurationError(msg)
        return description

    def _features(self, config: GraphConfig, *, is_bare: bool) -> frozenset[GraphFeature]:
        unknown = sorted(self.features - set(GraphFeature))
        if unknown:
            msg = (
                f"model '{self.id}' lists the feature '{unknown[0]}', which the installed version of"
                " langgraph-openai-serve does not know; install a newer one"
            )
            raise ConfigurationError(msg)
        missing = sorted(self.features - config.features)
        if missing and not is_bare:
            msg = (
                f"model '{self.id}' lists the feature '{missing[0]}', which the GraphConfig of"
                f" '{self.graph}' does not have; add GraphFeature.{missing[0].upper()} there"
                " or take it out of spec.features"
            )
            raise ConfigurationError(msg)
        return frozenset(GraphFeature(feature) for feature in self.features)

    def _unsupported_fields(self) -> UnsupportedFields:
        try:
            return UnsupportedFields(self.unsupported_fields)
        except ValueError as error:
            msg = f"model '{self.id}': unsupportedFields must be Reject or Ignore, not '{self.unsupported_fields}'"
            raise ConfigurationError(msg) from error
