"""The models that the gateway lists and routes to: what the registry ConfigMaps say, ready to use.

Fed with the data of whole ConfigMaps, one a namespace. A key whose text cannot be used is logged once and skipped; the
others stay. All that a request needs (routes, the body of `GET /v1/models`) is made when the registry changes: the part
of one entry when its key is read, so that an entry that cannot be rendered is skipped like one that cannot be parsed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from pydantic import ValidationError
from yarl import URL

from lgos_contract.registry import ModelState, RegistryEntry, load_entry

logger = logging.getLogger(__name__)

Source = tuple[str, str]
"""Namespace of a registry ConfigMap and one of its keys."""
EXTENSION_VERSION = 1
"""Version of the `lgos` object in a listed model."""


@dataclass(frozen=True, slots=True)
class Route:
    """Where one model answers."""

    model: str
    base: str
    """Base URL of the model's API, ending in `/v1`."""
    chat: URL
    responses: URL


@dataclass(frozen=True, slots=True)
class _Model:
    """One usable entry with what is made of it."""

    entry: RegistryEntry
    listed: orjson.Fragment
    route: Route


class Catalog:
    """All models that are served, by their public name.

    Args:
        changed: Told the names of all models after each change.
    """

    def __init__(self, changed: Callable[[frozenset[str]], None] = lambda _: None) -> None:
        self.listing: bytes = b""
        """Body of `GET /v1/models`."""
        self._changed = changed
        self._texts: dict[Source, str] = {}
        self._models: dict[Source, _Model] = {}
        self._routes: dict[str, Route] = {}
        self._render()

    def __len__(self) -> int:
        return len(self._routes)

    def __contains__(self, model: object) -> bool:
        return model in self._routes

    def route(self, model: str) -> Route | None:
        """Return where `model` answers; `None` when it is not served."""
        return self._routes.get(model)

    def put(self, namespace: str, data: Mapping[str, str]) -> None:
        """Take the data of a namespace's registry ConfigMap; keys that are no longer in it leave the catalog."""
        before = {source: text for source, text in self._texts.items() if source[0] == namespace}
        after = {(namespace, key): text for key, text in data.items()}
        if before == after:
            return
        for source in before.keys() - after.keys():
            del self._texts[source]
            self._models.pop(source, None)
        for source, text in after.items():
            if before.get(source) != text:
                self._read(source, text)
        self._render()

    def remove(self, namespace: str) -> None:
        """Forget the models of a namespace."""
        self.put(namespace, {})

    def _read(self, source: Source, text: str) -> None:
        self._texts[source] = text
        try:
            self._models[source] = _model(load_entry(text))
        except (ValueError, TypeError) as error:
            # The text is remembered, so the same mistake is logged once.
            self._models.pop(source, None)
            logger.warning(
                "registry key %s of namespace %s is skipped: %s", *source[::-1], _reason(error)
            )

    def _render(self) -> None:
        winners: dict[str, _Model] = {}
        for model in sorted(self._models.values(), key=_age):
            if model.entry.state is ModelState.SERVING:
                winners.setdefault(model.entry.id, model)
        models = [winners[name].listed for name in sorted(winners)]
        self.listing = orjson.dumps({"object": "list", "data": models})
        self._routes = {name: model.route for name, model in winners.items()}
        self._changed(frozenset(winners))


def _age(model: _Model) -> tuple[int, str, str]:
    """Sort the oldest first: of two models with one name it is the one that is served."""
    entry = model.entry
    return entry.created, entry.namespace, entry.name


def _model(entry: RegistryEntry) -> _Model:
    """Make of an entry what requests need.

    Raises:
        ValueError: The entry names no HTTP address.
        TypeError: The entry holds a number that JSON answers cannot carry.
    """
    listed = orjson.Fragment(orjson.dumps(_listed(entry)))
    return _Model(entry, listed, _route(entry))


def _reason(error: Exception) -> str:
    """Say what is wrong with a key without its text, which holds a model's settings."""
    if not isinstance(error, ValidationError):
        return str(error)
    details = error.errors(include_url=False, include_input=False, include_context=False)
    return "; ".join(
        ": ".join(filter(None, [".".join(map(str, each["loc"])), each["msg"]])) for each in details
    )


def _listed(entry: RegistryEntry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "object": "model",
        "created": entry.created,
        "owned_by": entry.owned_by,
        "lgos": {
            "schema_version": EXTENSION_VERSION,
            "description": entry.description,
            "features": sorted(entry.features),
        },
    }


def _route(entry: RegistryEntry) -> Route:
    base = entry.base_url.rstrip("/")
    address = URL(base)
    if address.scheme not in ("http", "https") or not address.host:
        msg = "base_url is no http address"
        raise ValueError(msg)
    return Route(
        model=entry.id,
        base=base,
        chat=URL(f"{base}/chat/completions", encoded=True),
        responses=URL(f"{base}/responses", encoded=True),
    )
