"""The models that the gateway lists and routes to: what the registry ConfigMaps say, ready to use.

Fed with the data of whole ConfigMaps, one a namespace. A key whose text cannot be used is logged once and skipped; the
others stay. All that a request needs (routes, the body of `GET /v1/models`) is made when the registry changes: the part
of one entry when its key is read, so that an entry that cannot be rendered is skipped like one that cannot be parsed.

An entry is believed only about its own namespace: whoever may write a ConfigMap there could otherwise send the requests
for another team's model wherever they like. So `namespace` is that of the ConfigMap, and the address is a Service in it.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson
from pydantic import ValidationError
from yarl import URL

from lgos_contract.api_keys import ALL_MODELS, matches
from lgos_contract.registry import ModelState, RegistryEntry, load_entry
from lgos_gateway.settings import CLUSTER_DOMAIN

logger = logging.getLogger(__name__)

Source = tuple[str, str]
"""Namespace of a registry ConfigMap and one of its keys."""
EXTENSION_VERSION = 1
"""Version of the `lgos` object in a listed model."""
_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


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
        cluster_domain: The domain of the cluster's Services.
        trusted_hosts: Hosts that an entry of any namespace may name though they are no Services of it.
    """

    def __init__(
        self,
        changed: Callable[[frozenset[str]], None] = lambda _: None,
        *,
        cluster_domain: str = CLUSTER_DOMAIN,
        trusted_hosts: Iterable[str] = (),
    ) -> None:
        self.listing: bytes = b""
        """Body of `GET /v1/models`."""
        self._changed = changed
        self._service_domains = ("svc", f"svc.{cluster_domain}")
        self._trusted_hosts = frozenset(trusted_hosts)
        self._texts: dict[Source, str] = {}
        self._models: dict[Source, _Model] = {}
        self._routes: dict[str, Route] = {}
        self._listed: list[tuple[str, _Model]] = []
        self._listings: dict[tuple[str, ...], bytes] = {}
        self._render()

    def __len__(self) -> int:
        return len(self._routes)

    def __contains__(self, model: object) -> bool:
        return model in self._routes

    def route(self, model: str) -> Route | None:
        """Return where `model` answers; `None` when it is not served."""
        return self._routes.get(model)

    def listing_for(self, patterns: tuple[str, ...]) -> bytes:
        """Return the body of `GET /v1/models` with the models that an API key may use."""
        if ALL_MODELS in patterns:
            return self.listing
        found = self._listings.get(patterns)
        if found is None:
            listed = [
                model.listed
                for name, model in self._listed
                if any(matches(name, pattern) for pattern in patterns)
            ]
            found = self._listings[patterns] = _listing(listed)
        return found

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
            entry = load_entry(text)
            self._check_origin(source[0], entry)
            self._models[source] = _model(entry)
        except (ValueError, TypeError) as error:
            # The text is remembered, so the same mistake is logged once.
            self._models.pop(source, None)
            logger.warning(
                "registry key %s of namespace %s is skipped: %s", *source[::-1], _reason(error)
            )

    def _check_origin(self, namespace: str, entry: RegistryEntry) -> None:
        """Refuse what an entry says of other namespaces than its own.

        Raises:
            ValueError: The entry is another namespace's, or its address is no Service of this one.
        """
        if entry.namespace != namespace:
            msg = "namespace is not that of the ConfigMap"
            raise ValueError(msg)
        address = URL(entry.base_url)
        if address.scheme not in ("http", "https") or not address.host:
            msg = "base_url is no http address"
            raise ValueError(msg)
        if address.user is not None or address.password is not None:
            msg = "base_url carries credentials"
            raise ValueError(msg)
        service, _, rest = address.host.partition(".")
        of, _, domain = rest.partition(".")
        is_service = _LABEL.fullmatch(service) and domain in self._service_domains
        if not (is_service and of == namespace) and address.host not in self._trusted_hosts:
            msg = f"base_url is no Service of the namespace: http://NAME.{namespace}.svc:PORT/v1 is"
            raise ValueError(msg)

    def _render(self) -> None:
        winners: dict[str, _Model] = {}
        for model in sorted(self._models.values(), key=_age):
            if model.entry.state is ModelState.SERVING:
                winners.setdefault(model.entry.id, model)
        self._listed = [(name, winners[name]) for name in sorted(winners)]
        self._listings.clear()
        self.listing = _listing([model.listed for _, model in self._listed])
        self._routes = {name: model.route for name, model in winners.items()}
        self._changed(frozenset(winners))


def _listing(models: list[orjson.Fragment]) -> bytes:
    return orjson.dumps({"object": "list", "data": models})


def _age(model: _Model) -> tuple[int, str, str]:
    """Sort the oldest first: of two models with one name it is the one that is served."""
    entry = model.entry
    return entry.created, entry.namespace, entry.name


def _model(entry: RegistryEntry) -> _Model:
    """Make of an entry what requests need.

    Raises:
        ValueError: Its address is no URL.
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
    return Route(
        model=entry.id,
        base=base,
        chat=URL(f"{base}/chat/completions", encoded=True),
        responses=URL(f"{base}/responses", encoded=True),
    )
