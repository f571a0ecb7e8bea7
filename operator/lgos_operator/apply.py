"""Brings the objects of one model to what they should be: server-side applies of what differs, and nothing else.

An object of somebody else is never taken over. Where an autoscaler decides the number of pods, `replicas` is left out
of what is applied; a field that only we own would fall back to 1 then, so the live value is first given to a second
field manager, from which the autoscaler takes it over.
"""

from __future__ import annotations

import logging
from typing import Final

from lgos_contract.manifest import KIND
from lgos_kube.errors import ApiError
from lgos_operator import checks, names
from lgos_operator.cluster import CHILD_KINDS, Cluster
from lgos_operator.compare import covers
from lgos_operator.desired import render
from lgos_operator.events import Events, EventType
from lgos_operator.metrics import Metrics
from lgos_operator.resource import Model, Object
from lgos_operator.settings import ModelDefaults
from lgos_operator.status import Verdict

logger = logging.getLogger(__name__)

_GOES_FIRST: Final = "HorizontalPodAutoscaler"
"""Deleted before the Deployment is applied, so that it does not scale against the manifest."""


class RefusedError(Exception):
    """One of a model's objects cannot be applied; the verdict says why."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.message)
        self.verdict = verdict


class LeftoverError(Exception):
    """An object of a deleted LanggraphModel of the same name is still there."""


class Applier:
    """Applies and deletes the objects of models.

    Args:
        cluster: What the operator owns, and how it is written.
        defaults: What the installation adds to each model.
        metrics: Where repairs are counted.
        events: Where repairs are told.
    """

    def __init__(
        self, cluster: Cluster, defaults: ModelDefaults, metrics: Metrics, events: Events
    ) -> None:
        self._cluster = cluster
        self._defaults = defaults
        self._metrics = metrics
        self._events = events

    def owned(self, obj: Object, kind: str, name: str) -> Object | None:
        """Return an object from the cache, if it belongs to the LanggraphModel `obj`."""
        live = self._cluster.live(kind, (obj["metadata"]["namespace"], name))
        return live if live is not None and _is_controlled(live, obj) else None

    async def apply_all(self, obj: Object, model: Model, *, with_deployment: bool) -> bool:
        """Apply what differs and delete what is no longer wanted; return whether something was written.

        Raises:
            RefusedError: An object cannot be applied.
            LeftoverError: The garbage collector is not done with a namesake.
        """
        children = render(model.manifest, owner=model.owner, defaults=self._defaults)
        wanted = {(child["kind"], child["metadata"]["name"]) for child in children}
        wrote = await self._delete_unwanted(obj, wanted, (_GOES_FIRST,))
        for child in children:
            if child["kind"] != "Deployment" or with_deployment:
                wrote = await self._ensure(obj, model, child) or wrote
        others = tuple(kind for kind in CHILD_KINDS if kind != _GOES_FIRST)
        return await self._delete_unwanted(obj, wanted, others) or wrote

    async def _delete_unwanted(
        self, obj: Object, wanted: set[tuple[str, str]], kinds: tuple[str, ...]
    ) -> bool:
        wrote = False
        namespace, name = obj["metadata"]["namespace"], obj["metadata"]["name"]
        for kind in kinds:
            for candidate in (name, names.api_name(name)):
                found = self.owned(obj, kind, candidate)
                if found is not None and (kind, candidate) not in wanted:
                    uid = found["metadata"]["uid"]
                    await self._cluster.delete(kind, (namespace, candidate), uid=uid)
                    wrote = True
        return wrote

    async def _ensure(self, obj: Object, model: Model, child: Object) -> bool:
        """Apply one object unless it is as it should be; return whether it was applied."""
        kind, name = child["kind"], child["metadata"]["name"]
        key = (child["metadata"]["namespace"], name)
        live = self._cluster.live(kind, key)
        applied = child["metadata"]["annotations"][names.APPLIED_HASH]
        if live is None or not _is_controlled(live, obj):
            live = None
            await self._make_way(obj, kind, key)
        elif _applied_hash(live) == applied:
            if covers(live, _without_type(child)):
                return False
            await self._tell_repair(obj, kind, name)
        try:
            if live is not None and kind == "Deployment" and "replicas" not in child["spec"]:
                await self._hand_over_replicas(child, model.manifest.spec.api.least_replicas)
            await self._cluster.apply(child)
        except ApiError as error:
            if not _is_refusal(error):
                raise
            raise RefusedError(checks.apply_refused(kind, name, error.message)) from error
        return True

    async def _tell_repair(self, obj: Object, kind: str, name: str) -> None:
        self._metrics.repaired(kind)
        text = f"The {kind} '{name}' was changed by others and is repaired."
        logger.warning("%s: %s", obj["metadata"]["namespace"], text)
        await self._events.tell(obj, EventType.WARNING, "DriftRepaired", text)

    async def _hand_over_replicas(self, child: Object, least: int) -> None:
        """Keep the number of pods when we stop naming it, and wake a Deployment that was scaled to 0."""
        key = (child["metadata"]["namespace"], child["metadata"]["name"])
        live = await self._cluster.get("Deployment", key)
        if live is None:
            return
        replicas = live["spec"].get("replicas", 1)
        owners = _owners_of_replicas(live)
        if replicas > 0 and owners != {names.FIELD_MANAGER}:
            return
        await self._cluster.apply(
            {
                "apiVersion": child["apiVersion"],
                "kind": child["kind"],
                "metadata": {"name": key[1], "namespace": key[0]},
                "spec": {"replicas": max(replicas, least)},
            },
            manager=names.HANDOVER_MANAGER,
        )

    async def _make_way(self, obj: Object, kind: str, key: tuple[str, str]) -> None:
        """Refuse to take over an object that somebody else made; one read before each creation."""
        existing = await self._cluster.get(kind, key)
        if existing is None or _is_controlled(existing, obj):
            return
        if _is_leftover(existing, obj):
            raise LeftoverError
        raise RefusedError(checks.name_taken(kind, key[1]))


def _owners_of_replicas(deployment: Object) -> set[str]:
    return {
        entry["manager"]
        for entry in deployment["metadata"].get("managedFields") or ()
        if "f:replicas" in (entry.get("fieldsV1") or {}).get("f:spec", {})
    }


def _is_controlled(child: Object, owner: Object) -> bool:
    uid = owner["metadata"]["uid"]
    return any(
        reference.get("controller") and reference.get("uid") == uid
        for reference in child["metadata"].get("ownerReferences") or ()
    )


def _applied_hash(live: Object) -> str | None:
    found: str | None = (live["metadata"].get("annotations") or {}).get(names.APPLIED_HASH)
    return found


def _without_type(child: Object) -> Object:
    """Drop what the items of a list do not carry."""
    return {field: value for field, value in child.items() if field not in {"apiVersion", "kind"}}


def _is_leftover(existing: Object, owner: Object) -> bool:
    return any(
        reference.get("kind") == KIND and reference.get("name") == owner["metadata"]["name"]
        for reference in existing["metadata"].get("ownerReferences") or ()
    )


def _is_refusal(error: ApiError) -> bool:
    """Whether the object is at fault, not the connection or our rights.

    Missing rights are not the user's fault, and for a moment after its start the API server knows no rights at all.
    Server-side apply answers 500 to a field that the schema does not know.
    """
    if error.code == 403:
        return " cannot " not in error.message
    if error.code == 500:
        return "failed to create typed patch object" in error.message
    return error.code in {400, 422}
