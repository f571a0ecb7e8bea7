"""One look at one LanggraphModel: observe, render, apply what differs, report.

Everything is read from the caches and compared with what should be, from any starting state; nothing is remembered from
one look to the next that a restart would miss. When nothing differs, nothing is written. The order of writes makes a
pod find its registry entry: entry, then Deployment, then the entry's state `serving` once the API was available; a look
that has to wait for the registry ends, and the registry's writer asks for the next one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from lgos_contract.registry import (
    REGISTRY_NAME,
    ModelState,
    RegistryEntry,
    dump_entry,
    registry_key,
)
from lgos_kube.errors import NotFound
from lgos_operator import checks, names
from lgos_operator.apply import Applier, LeftoverError, RefusedError
from lgos_operator.cluster import Cluster
from lgos_operator.desired import registry_entry
from lgos_operator.events import Events, EventType
from lgos_operator.models import ModelCache
from lgos_operator.podwatch import PodWatch
from lgos_operator.registry import RegistryWriter
from lgos_operator.resource import (
    InvalidSpecError,
    Key,
    Model,
    Object,
    generation_of,
    is_deleting,
    is_paused,
    model_id_of,
    read_model,
)
from lgos_operator.status import (
    ConditionType,
    Verdict,
    conditions,
    find_condition,
    pending,
    status_patch,
)

logger = logging.getLogger(__name__)

REFUSED_RETRY_SECONDS: Final = 30.0
"""How often an apply that was refused is tried again: a quota or policy changes without an event."""
COUNTS_SECONDS: Final = 2.0
"""Least time between two writes of one status that differ in pod counts only."""
OBSERVE_SECONDS: Final = 2.0
"""How long the Deployment controller may take to see a new generation before the status tells of it."""
LEFTOVER_RETRY_SECONDS: Final = 1.0
"""How often to look whether the garbage collector has deleted what a namesake left."""


class Result(StrEnum):
    """How a look at a LanggraphModel ended; values of the metric's label."""

    NOOP = "noop"
    APPLIED = "applied"
    WAITING = "waiting"
    REJECTED = "rejected"
    PAUSED = "paused"


@dataclass(frozen=True, slots=True)
class Observation:
    """What one look found, as input of the status."""

    accepted: Verdict
    api: Verdict
    registered: Verdict
    ready: Verdict
    rollout: checks.Rollout
    is_terminal: bool = False


class Reconciler:
    """Looks at LanggraphModels, each for itself.

    Args:
        models: All LanggraphModels.
        cluster: What the operator owns, and how it is written.
        registry: The model registry's writer.
        pods: Reads pods of unfinished rollouts.
        applier: Applies the models' objects.
        events: Where changes of the condition Ready are told.
        again: Asks for another look after some seconds.
        now: The wall clock, for transition times.
        clock: Monotonic seconds.
    """

    def __init__(
        self,
        *,
        models: ModelCache,
        cluster: Cluster,
        registry: RegistryWriter,
        pods: PodWatch,
        applier: Applier,
        events: Events,
        again: Callable[[Key, float], None],
        now: Callable[[], datetime],
        clock: Callable[[], float],
    ) -> None:
        self._models = models
        self._cluster = cluster
        self._registry = registry
        self._pods = pods
        self._applier = applier
        self._events = events
        self._again = again
        self._now = now
        self._clock = clock
        self._reported: dict[Key, float] = {}
        self._unobserved: dict[Key, tuple[int, float]] = {}

    async def reconcile(self, key: Key) -> Result:
        """Bring one LanggraphModel's objects, registry entry and status to what they should be."""
        obj = self._models.get(key)
        if obj is None or is_deleting(obj):
            # The garbage collector deletes the objects: they name the LanggraphModel as their owner.
            self._registry.forget(key)
            self._pods.forget(key)
            self._events.forget(key)
            self._reported.pop(key, None)
            self._unobserved.pop(key, None)
            return Result.NOOP
        if is_paused(obj):
            # The registry keeps what it has, and so do the objects: somebody works on them by hand.
            self._pods.forget(key)
            return Result.PAUSED
        try:
            model = read_model(obj)
        except InvalidSpecError as error:
            # The registry keeps what it has: the last valid revision goes on being served.
            verdict = checks.invalid_spec(str(error), is_override=error.is_override)
            return await self._reject(key, obj, verdict, None)
        winner = self._models.holder(model_id_of(obj))
        if winner is not None and winner != key:
            self._registry.want(key, None)
            verdict = checks.name_conflict(model_id_of(obj), winner)
            return await self._reject(key, obj, verdict, verdict)
        return await self._converge(key, obj, model)

    async def _reject(
        self, key: Key, obj: Object, accepted: Verdict, registered: Verdict | None
    ) -> Result:
        """Report a manifest that cannot be served; what an earlier one left goes on running."""
        self._pods.forget(key)
        waiting = pending("NotAccepted", "The manifest is not accepted.")
        rollout = checks.read_rollout(
            self._applier.owned(obj, "Deployment", names.api_name(key[1]))
        )
        api = checks.api_available(rollout, waiting, was_available=True)
        entry = self._registry.entry(key)
        if registered is None and entry is not None:
            registered = checks.registered(entry, is_live=True, problem=None)
        seen = Observation(
            accepted, api, registered or waiting, ready=accepted, rollout=rollout, is_terminal=True
        )
        await self._report(key, obj, seen)
        return Result.REJECTED

    async def _converge(self, key: Key, obj: Object, model: Model) -> Result:
        entry = self._entry(key, obj, model)
        self._registry.want(key, dump_entry(entry))
        live = self._registry.entry(key)
        # A pod reads its entry when it starts, so the Deployment of a revision comes after the entry.
        may_roll = live is not None and live.revision == entry.revision
        refusal, wrote = None, False
        try:
            wrote = await self._applier.apply_all(obj, model, with_deployment=may_roll)
        except RefusedError as error:
            refusal = error.verdict
            self._again(key, REFUSED_RETRY_SECONDS)
        except LeftoverError:
            self._again(key, LEFTOVER_RETRY_SECONDS)
            return Result.WAITING
        is_live = self._registry.has(key, dump_entry(entry))
        waits_for_registry = not is_live and self._registry.problem(key) is None
        if refusal is None and (waits_for_registry or self._awaits_controller(key, obj)):
            return Result.WAITING
        seen = await self._observe(key, obj, entry, refusal)
        wrote = await self._report(key, obj, seen) or wrote
        return Result.APPLIED if wrote else Result.NOOP

    def _entry(self, key: Key, obj: Object, model: Model) -> RegistryEntry:
        """Return the wanted entry; a model that was available once stays `serving` for good."""
        rollout = checks.read_rollout(
            self._applier.owned(obj, "Deployment", names.api_name(key[1]))
        )
        live = self._registry.entry(key)
        was_serving = (
            live is not None
            and live.state is ModelState.SERVING
            and (live.id, live.created) == (model.manifest.model_id, model.owner.created)
        )
        # A Deployment that is still at 0 after a suspension answers nothing.
        is_asleep = rollout.wanted == 0 and model.manifest.spec.api.least_replicas > 0
        is_available = rollout.is_available and not is_asleep
        is_serving = is_available or was_serving or self._was_registered(obj)
        state = _state(model, is_serving=is_serving)
        return registry_entry(model.manifest, created=model.owner.created, state=state)

    def _awaits_controller(self, key: Key, obj: Object) -> bool:
        """Give the Deployment controller a moment to see a new generation: foreign annotations make one, too."""
        deployment = self._applier.owned(obj, "Deployment", names.api_name(key[1]))
        if deployment is None or checks.read_rollout(deployment).is_observed:
            self._unobserved.pop(key, None)
            return False
        generation = generation_of(deployment)
        known, since = self._unobserved.get(key, (0, 0.0))
        if known != generation:
            since = self._clock()
            self._unobserved[key] = (generation, since)
        wait = since + OBSERVE_SECONDS - self._clock()
        if wait > 0:
            self._again(key, wait)
        return wait > 0

    async def _observe(
        self, key: Key, obj: Object, entry: RegistryEntry, refusal: Verdict | None
    ) -> Observation:
        deployment = self._applier.owned(obj, "Deployment", names.api_name(key[1]))
        rollout = checks.read_rollout(deployment)
        cause = refusal
        if deployment is None or rollout.is_complete:
            self._pods.forget(key)
        elif cause is None:
            cause = await self._pods.cause(key, generation_of(deployment))
        problem = self._registry.problem(key)
        is_live = self._registry.has(key, dump_entry(entry))
        accepted = checks.accepted()
        api = checks.api_available(rollout, cause, was_available=self._was_registered(obj))
        registered = checks.registered(entry, is_live=is_live, problem=problem)
        ready = refusal or checks.ready(
            accepted=accepted,
            api=api,
            registered=registered,
            rollout=rollout,
            cause=cause,
            is_suspended=entry.state is ModelState.SUSPENDED,
        )
        return Observation(accepted, api, registered, ready, rollout, problem is not None)

    async def _report(self, key: Key, obj: Object, seen: Observation) -> bool:
        """Write the status if it differs; return whether it was written."""
        patch = status_patch(obj.get("status") or {}, self._status(key, obj, seen))
        if not patch:
            return False
        if set(patch) == {"api"}:
            wait = self._reported.get(key, -COUNTS_SECONDS) + COUNTS_SECONDS - self._clock()
            if wait > 0:
                self._again(key, wait)
                return False
        try:
            answer = await self._cluster.patch_status(key, patch, uid=obj["metadata"]["uid"])
        except NotFound:
            return False
        self._reported[key] = self._clock()
        self._models.put(answer, is_own_write=True)
        await self._tell(obj, seen.ready)
        return True

    async def _tell(self, obj: Object, ready: Verdict) -> None:
        """Tell of a change of the condition Ready; the first steps of a new model are no news."""
        before = find_condition(obj.get("status") or {}, ConditionType.READY)
        if before is not None and (before["status"], before["reason"]) == (
            ready.status,
            ready.reason,
        ):
            return
        if ready.is_false:
            await self._events.tell(obj, EventType.WARNING, ready.reason, ready.message)
        elif ready.is_true:
            await self._events.tell(obj, EventType.NORMAL, ready.reason, ready.message)
        elif before is not None and before["status"] == "True":
            await self._events.tell(obj, EventType.NORMAL, "RolloutStarted", ready.message)

    def _status(self, key: Key, obj: Object, seen: Observation) -> Object:
        namespace, name = key
        rollout = seen.rollout
        verdicts = {
            ConditionType.ACCEPTED: seen.accepted,
            ConditionType.API_AVAILABLE: seen.api,
            ConditionType.REGISTERED: seen.registered,
            ConditionType.READY: seen.ready,
            **checks.summary_pair(seen.ready, rollout=rollout, is_terminal=seen.is_terminal),
        }
        generation = generation_of(obj)
        pods = ",".join(f"{label}={value}" for label, value in names.selector(name).items())
        return {
            "observedGeneration": generation,
            "modelName": model_id_of(obj),
            "endpoint": names.base_url(namespace, name),
            "conditions": conditions(
                verdicts,
                previous=(obj.get("status") or {}).get("conditions") or [],
                generation=generation,
                now=self._now(),
            ),
            "api": {
                "replicas": rollout.replicas,
                "readyReplicas": rollout.ready,
                "updatedReplicas": rollout.updated,
                "summary": f"{rollout.ready}/{rollout.wanted}",
                "selector": pods,
            },
            "registry": {"configMap": REGISTRY_NAME, "key": registry_key(name)},
        }

    def _was_registered(self, obj: Object) -> bool:
        """Whether the gateway listed the model: one that was hidden or suspended has to become available first."""
        found = find_condition(obj.get("status") or {}, ConditionType.REGISTERED) or {}
        return (found.get("status"), found.get("reason")) == ("True", "Registered")


def _state(model: Model, *, is_serving: bool) -> ModelState:
    spec = model.manifest.spec
    if spec.suspend:
        return ModelState.SUSPENDED
    if not spec.exposure.register_model:
        return ModelState.UNLISTED
    return ModelState.SERVING if is_serving else ModelState.STARTING
