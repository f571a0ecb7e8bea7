"""All parts of the operator but kopf, around an API server in memory."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest

from lgos_kube.client import KubeClient
from lgos_operator.events import EventType
from lgos_operator.handlers import observed
from lgos_operator.metrics import Metrics
from lgos_operator.program import Operator
from lgos_operator.settings import Settings
from operator_kit.fake_api import FakeApi
from operator_kit.live_api import eventually
from operator_kit.samples import stored

NS = "/namespaces/team-a"
MODEL = f"/apis/lgos.dev/v1alpha1{NS}/langgraphmodels"
DEPLOYMENT = f"/apis/apps/v1{NS}/deployments"
SERVICE = f"/api/v1{NS}/services"
ACCOUNT = f"/api/v1{NS}/serviceaccounts"
REGISTRY = f"/api/v1{NS}/configmaps/lgos-model-registry"
PODS = f"/api/v1{NS}/pods"


class Bench:
    """An operator, its API server, and the test as watcher and Deployment controller."""

    def __init__(self) -> None:
        self.api = FakeApi()
        self.metrics = Metrics()
        self.operator = Operator(
            cast("KubeClient", self.api), Settings(resync_seconds=60), self.metrics
        )
        self.tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        for path, obj in self.api.objects.items():
            if path.startswith(MODEL):
                self.show(obj["metadata"]["name"], None)
        parts = self.operator
        starts = [parts.cluster.run(), parts._sweep(), parts._write_registry(), parts._work()]
        self.tasks = [asyncio.create_task(part) for part in starts]
        await eventually(lambda: _as_async(self.operator.is_ready() == "" or None))

    async def stop(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    def show(self, name: str, kind: str | None = "MODIFIED") -> None:
        """Do what kopf does with a LanggraphModel."""
        event = {"type": kind, "object": self.api.objects[f"{MODEL}/{name}"]}
        observed(self.operator.models, self.operator._relisted, event)

    def create(self, name: str = "research", **changes: Any) -> None:
        self.api.put(f"{MODEL}/{name}", stored(name, **changes))
        self.show(name, "ADDED")

    def change(self, name: str, **spec: Any) -> None:
        obj = self.api.objects[f"{MODEL}/{name}"]
        obj["spec"] |= spec
        obj["metadata"]["generation"] += 1
        self.api.put(f"{MODEL}/{name}", obj)
        self.show(name)

    def delete(self, name: str) -> None:
        obj = self.api.objects[f"{MODEL}/{name}"]
        self.api.remove(f"{MODEL}/{name}")
        observed(self.operator.models, self.operator._relisted, {"type": "DELETED", "object": obj})

    def available(self, name: str = "research", number: int = 1) -> None:
        path = f"{DEPLOYMENT}/{name}-api"
        obj = self.api.objects[path]
        counts = dict.fromkeys(
            ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), number
        )
        obj["status"] = {"observedGeneration": obj["metadata"]["generation"], **counts}
        self.api.put(path, obj)

    def condition(self, name: str, kind: str) -> dict[str, Any]:
        status = self.api.objects[f"{MODEL}/{name}"].get("status") or {}
        by_type = {found["type"]: found for found in status.get("conditions") or ()}
        return dict(by_type.get(kind) or {"status": None, "reason": None})

    def registry(self) -> dict[str, dict[str, Any]]:
        data = self.api.objects.get(REGISTRY, {}).get("data", {})
        return {key: json.loads(text) for key, text in data.items()}

    async def becomes(self, name: str, kind: str, status: str, reason: str) -> dict[str, Any]:
        async def look() -> dict[str, Any] | None:
            found = self.condition(name, kind)
            return found if (found["status"], found["reason"]) == (status, reason) else None

        return await eventually(
            look, within=8, otherwise=lambda: _as_async(str(self.condition(name, kind)))
        )

    async def exists(self, path: str) -> None:
        await eventually(lambda: _as_async(path in self.api.objects or None), within=8)

    async def idle(self) -> None:
        """Wait until nothing is queued, due or on its way."""
        queue, registry = self.operator.queue, self.operator.registry

        async def look() -> bool | None:
            for _ in range(50):
                if queue.depth or registry._due:
                    return None
                await asyncio.sleep(0.002)
            return True

        await eventually(look, within=8)

    async def serve(self, name: str = "research", *, pods: int = 1, **changes: Any) -> None:
        self.create(name, **changes)
        await self.exists(f"{DEPLOYMENT}/{name}-api")
        self.available(name, pods)
        await self.becomes(name, "Ready", "True", "Ready")
        await self.idle()


async def _as_async(value: Any) -> Any:
    return value


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    made = Bench()
    await made.start()
    yield made
    await made.stop()


async def test_a_model_is_registered_before_its_pods_and_served_when_available(
    bench: Bench,
) -> None:
    bench.create()
    await bench.becomes("research", "Ready", "Unknown", "Reconciling")
    order = [path for method, path in bench.api.writes if not path.endswith("/status")]
    assert order[:2] == [f"{ACCOUNT}/research", f"{SERVICE}/research-api"]
    assert order[2:] == [f"/api/v1{NS}/configmaps", f"{DEPLOYMENT}/research-api"]
    assert bench.registry()["research.json"]["state"] == "starting"
    bench.available()
    await bench.becomes("research", "Ready", "True", "Ready")
    assert bench.registry()["research.json"]["state"] == "serving"


async def test_looking_again_writes_nothing(bench: Bench) -> None:
    await bench.serve()
    bench.api.calls.clear()
    bench.operator.queue.add(("team-a", "research"))
    await bench.idle()
    assert bench.api.calls == []


async def test_a_new_operator_writes_nothing(bench: Bench) -> None:
    await bench.serve()
    await bench.stop()
    again = Bench()
    again.api = bench.api
    again.operator = Operator(cast("KubeClient", bench.api), Settings(), Metrics())
    bench.api.calls.clear()
    await again.start()
    await again.idle()
    assert bench.api.writes == []
    await again.stop()


async def test_a_change_of_settings_rolls_after_the_registry_has_it(bench: Bench) -> None:
    await bench.serve()
    bench.api.calls.clear()
    bench.change("research", settings={"a": 1})
    await eventually(
        lambda: _as_async(("PATCH", f"{DEPLOYMENT}/research-api") in bench.api.calls or None)
    )
    written = [path for _, path in bench.api.writes]
    assert written.index(REGISTRY) < written.index(f"{DEPLOYMENT}/research-api")
    entry = bench.registry()["research.json"]
    assert (entry["state"], entry["settings"]) == ("serving", {"a": 1})


async def test_a_deleted_model_leaves_the_registry(bench: Bench) -> None:
    await bench.serve("one")
    await bench.serve("two")
    bench.delete("one")
    await eventually(lambda: _as_async(set(bench.registry()) == {"two.json"} or None))


async def test_an_invalid_spec_keeps_the_last_revision_served(bench: Bench) -> None:
    await bench.serve()
    bench.change("research", features=["client_events", "client_events"])
    found = await bench.becomes("research", "Ready", "False", "InvalidSpec")
    assert "features" in found["message"]
    assert bench.condition("research", "ApiAvailable")["status"] == "True"
    assert bench.condition("research", "Registered")["status"] == "True"
    assert bench.registry()["research.json"]["state"] == "serving"
    bench.change("research", features=[])
    await bench.becomes("research", "Accepted", "True", "Accepted")


async def test_the_older_model_holds_the_name(bench: Bench) -> None:
    await bench.serve("old", spec={"modelName": "m"})
    bench.create(
        "new",
        spec={"modelName": "m"},
        metadata={"creationTimestamp": "2026-02-02T00:00:00Z", "uid": "new"},
    )
    found = await bench.becomes("new", "Registered", "False", "ModelNameConflict")
    assert "team-a/old" in found["message"]
    assert set(bench.registry()) == {"old.json"}
    bench.delete("old")
    await bench.becomes("new", "Accepted", "True", "Accepted")


async def test_drift_is_repaired_and_counted(bench: Bench) -> None:
    await bench.serve()
    path = f"{SERVICE}/research-api"
    obj = bench.api.objects[path]
    obj["spec"]["selector"]["app.kubernetes.io/name"] = "other"
    bench.api.put(path, obj)

    async def repaired() -> bool | None:
        return (
            bench.api.objects[path]["spec"]["selector"]["app.kubernetes.io/name"]
            == "langgraph-model"
            or None
        )

    await eventually(repaired)
    sample = bench.metrics.registry.get_sample_value(
        "lgos_operator_drift_repairs_total", {"kind": "Service"}
    )
    assert sample == 1.0


async def test_an_object_of_somebody_else_is_not_taken_over(bench: Bench) -> None:
    bench.api.put(
        f"{SERVICE}/research-api", {"metadata": {"name": "research-api", "namespace": "team-a"}}
    )
    bench.create()
    await bench.becomes("research", "ApiAvailable", "False", "NameTaken")
    assert ("PATCH", f"{SERVICE}/research-api") not in bench.api.calls


async def test_what_a_namesake_left_is_waited_for(bench: Bench) -> None:
    reference = {"kind": "LanggraphModel", "name": "research", "uid": "older", "controller": True}
    metadata = {"name": "research", "namespace": "team-a", "ownerReferences": [reference]}
    bench.api.put(f"{ACCOUNT}/research", {"metadata": metadata})
    bench.create()
    await eventually(lambda: _as_async(("GET", f"{ACCOUNT}/research") in bench.api.calls or None))
    await bench.idle()
    assert bench.api.writes == [("POST", f"/api/v1{NS}/configmaps")]
    bench.api.remove(f"{ACCOUNT}/research")
    await bench.exists(f"{DEPLOYMENT}/research-api")


async def test_an_own_service_account_goes_when_another_is_named(bench: Bench) -> None:
    await bench.serve()
    bench.change("research", serviceAccountName="robot")
    await eventually(lambda: _as_async(f"{ACCOUNT}/research" not in bench.api.objects or None))


@pytest.mark.parametrize(
    ("code", "message", "reason"),
    [
        (403, "deployments is forbidden: exceeded quota: q", "QuotaExceeded"),
        (422, "bad value", "ApplyRefused"),
        (500, "failed to create typed patch object: no such field", "ApplyRefused"),
    ],
)
async def test_a_refused_object_is_told_in_the_status(
    bench: Bench, code: int, message: str, reason: str
) -> None:
    bench.api.failures["PATCH", f"{DEPLOYMENT}/research-api"] = (code, message)
    bench.create()
    await bench.becomes("research", "Ready", "False", reason)


async def test_missing_rights_are_tried_again_and_not_blamed_on_the_model(bench: Bench) -> None:
    path = f"{SERVICE}/research-api"
    bench.api.failures["PATCH", path] = (403, 'User "x" cannot patch resource "services"')
    bench.create()
    await eventually(lambda: _as_async(("PATCH", path) in bench.api.calls or None))
    await bench.idle()
    assert bench.condition("research", "Ready")["status"] is None
    del bench.api.failures["PATCH", path]
    await bench.exists(f"{DEPLOYMENT}/research-api")
    errors = bench.metrics.registry.get_sample_value(
        "lgos_operator_reconcile_total", {"result": "error"}
    )
    assert errors is not None
    assert errors >= 1


async def test_a_registry_that_cannot_be_written_is_told_in_the_status(bench: Bench) -> None:
    bench.api.failures["POST", f"/api/v1{NS}/configmaps"] = (403, "denied by policy")
    bench.create()
    found = await bench.becomes("research", "Registered", "False", "WriteFailed")
    assert "denied by policy" in found["message"]
    bench.api.failures.clear()
    await bench.exists(f"{DEPLOYMENT}/research-api")


async def test_a_full_registry_refuses_the_newcomer_and_admits_it_later(bench: Bench) -> None:
    bench.operator.registry._bytes_max = 700
    await bench.serve("one", spec={"description": "d" * 300})
    bench.create("two", spec={"description": "d" * 300})
    await bench.becomes("two", "Registered", "False", "RegistryFull")
    bench.change("one", description="short")
    await eventually(
        lambda: _as_async(bench.registry()["one.json"].get("description") == "short" or None)
    )
    bench.delete("one")
    await bench.exists(f"{DEPLOYMENT}/two-api")
    bench.available("two")
    await bench.becomes("two", "Ready", "True", "Ready")


async def test_a_registry_without_our_label_is_taken_over(bench: Bench) -> None:
    bench.api.failures["POST", f"/api/v1{NS}/configmaps"] = (409, "exists")
    bench.api.objects[REGISTRY] = {
        "metadata": {"name": "lgos-model-registry", "namespace": "team-a"}
    }
    bench.create()
    await bench.exists(f"{DEPLOYMENT}/research-api")
    assert bench.api.objects[REGISTRY]["metadata"]["labels"]["lgos.dev/registry"] == "true"


async def test_strays_and_unreadable_entries_are_put_right(bench: Bench) -> None:
    await bench.serve()
    obj = bench.api.objects[REGISTRY]
    before = dict(obj["data"])
    obj["data"] = {"research.json": "{", "stray.json": "{}"}
    bench.api.put(REGISTRY, obj)
    await eventually(lambda: _as_async(bench.api.objects[REGISTRY]["data"] == before or None))
    bench.api.remove(REGISTRY)
    await eventually(
        lambda: _as_async(bench.api.objects.get(REGISTRY, {}).get("data") == before or None)
    )


async def test_deletions_that_no_watch_showed_are_found_after_a_relist(bench: Bench) -> None:
    await bench.serve("one")
    bench.api.forget(f"{MODEL}/one")
    bench.api.end_watches()
    await eventually(lambda: _as_async(bench.registry() == {} or None))
    assert len(bench.operator.models) == 0


async def test_the_cause_of_a_pod_is_read_while_nothing_is_available(bench: Bench) -> None:
    pod = stored("research-api-x")
    waiting = {"name": "api", "ready": False, "state": {"waiting": {"reason": "ErrImagePull"}}}
    pod["spec"] = {"containers": [{"name": "api", "image": "nowhere:1"}]}
    bench.api.put(f"{PODS}/research-api-x", pod | {"status": {"containerStatuses": [waiting]}})
    bench.create()
    await bench.exists(f"{DEPLOYMENT}/research-api")
    bench.available(number=0)
    found = await bench.becomes("research", "Ready", "False", "ImagePullBackOff")
    assert "nowhere:1" in found["message"]


async def test_metrics_tell_of_models_queue_and_caches(bench: Bench) -> None:
    await bench.serve()
    sample = bench.metrics.registry.get_sample_value
    where = {"namespace": "team-a", "model": "research"}
    assert sample("lgos_model_condition", {**where, "type": "Ready", "status": "True"}) == 1.0
    assert (
        sample("lgos_model_info", {**where, "model_id": "research", "image": "team-a/research:1.2"})
        == 1.0
    )
    assert sample("lgos_operator_objects", {"kind": "LanggraphModel"}) == 1.0
    assert sample("lgos_operator_objects", {"kind": "Deployment"}) == 1.0
    assert sample("lgos_operator_queue_depth") == 0.0
    assert sample("lgos_operator_watch_restarts_total", {"resource": "Service"}) == 0.0


async def test_a_silent_watch_is_not_alive(bench: Bench) -> None:
    assert bench.operator.is_alive() == ""
    watch = bench.operator.cluster.watches["Service", ""]
    watch.last_event -= 181
    assert "Service" in bench.operator.is_alive()


async def test_a_suspended_model_leaves_the_gateway_and_comes_back_when_available(
    bench: Bench,
) -> None:
    await bench.serve(pods=2, spec={"api": {"replicas": 2}})
    budget = f"/apis/policy/v1{NS}/poddisruptionbudgets/research-api"
    assert budget in bench.api.objects
    bench.change("research", suspend=True)
    await eventually(
        lambda: _as_async(bench.registry()["research.json"]["state"] == "suspended" or None)
    )
    await eventually(lambda: _as_async(budget not in bench.api.objects or None))
    assert bench.api.objects[f"{DEPLOYMENT}/research-api"]["spec"]["replicas"] == 0
    bench.available(number=0)
    await bench.becomes("research", "Ready", "True", "Suspended")
    assert bench.condition("research", "Registered")["reason"] == "NotRequested"
    bench.change("research", suspend=False)
    await eventually(
        lambda: _as_async(bench.registry()["research.json"]["state"] == "starting" or None)
    )
    await bench.exists(budget)
    bench.available(number=2)
    await bench.becomes("research", "Ready", "True", "Ready")
    assert bench.registry()["research.json"]["state"] == "serving"


async def test_a_hidden_model_runs_and_is_not_listed(bench: Bench) -> None:
    await bench.serve(spec={"exposure": {"register": False}})
    assert bench.registry()["research.json"]["state"] == "unlisted"
    assert bench.condition("research", "Registered")["reason"] == "NotRequested"
    bench.change("research", exposure={"register": True})
    await eventually(
        lambda: _as_async(bench.registry()["research.json"]["state"] == "serving" or None)
    )


async def test_a_paused_model_is_left_alone_until_it_goes_on(bench: Bench) -> None:
    await bench.serve()
    obj = bench.api.objects[f"{MODEL}/research"]
    obj["metadata"]["annotations"] = {"lgos.dev/paused": "true"}
    bench.change("research", settings={"a": 1})
    await bench.idle()
    bench.api.calls.clear()
    bench.api.remove(f"{SERVICE}/research-api")
    await bench.idle()
    assert bench.api.calls == []
    assert bench.registry()["research.json"]["settings"] == {}
    obj = bench.api.objects[f"{MODEL}/research"]
    obj["metadata"]["annotations"] = {}
    bench.change("research")
    await bench.exists(f"{SERVICE}/research-api")
    assert bench.registry()["research.json"]["settings"] == {"a": 1}


async def test_an_overlay_that_is_not_allowed_is_told_and_changes_nothing(bench: Bench) -> None:
    await bench.serve()
    bench.change("research", podTemplate={"spec": {"restartPolicy": "Never"}})
    found = await bench.becomes("research", "Ready", "False", "ForbiddenOverride")
    assert "spec.podTemplate: spec.restartPolicy cannot be overridden" in found["message"]
    template = bench.api.objects[f"{DEPLOYMENT}/research-api"]["spec"]["template"]
    assert "restartPolicy" not in template["spec"]


async def test_replicas_that_only_we_own_are_handed_over_to_an_autoscaler(bench: Bench) -> None:
    await bench.serve(pods=3, spec={"api": {"replicas": 3}})
    deployment = f"{DEPLOYMENT}/research-api"
    obj = bench.api.objects[deployment]
    ours = {"manager": "lgos-operator", "fieldsV1": {"f:spec": {"f:replicas": {}}}}
    obj["metadata"]["managedFields"] = [ours]
    bench.api.calls.clear()
    bench.change("research", api={"autoscaling": {"maxReplicas": 6}})
    await bench.exists(f"/apis/autoscaling/v2{NS}/horizontalpodautoscalers/research-api")
    await bench.idle()
    assert bench.api.calls.count(("PATCH", deployment)) == 2
    assert bench.api.objects[deployment]["spec"]["replicas"] == 3


def told(bench: Bench) -> list[tuple[str, str]]:
    """Return type and reason of all events, in order."""
    found = [
        obj for path, obj in bench.api.objects.items() if path.startswith(f"/api/v1{NS}/events/")
    ]
    return [(obj["type"], obj["reason"]) for obj in found]


async def test_events_tell_of_changes_and_not_of_states(bench: Bench) -> None:
    await bench.serve()
    assert told(bench) == [("Normal", "Ready")]
    deployment = bench.api.objects[f"{DEPLOYMENT}/research-api"]
    deployment["status"]["updatedReplicas"] = 0
    bench.api.put(f"{DEPLOYMENT}/research-api", deployment)
    await bench.becomes("research", "Ready", "Unknown", "Reconciling")
    bench.available()
    await bench.becomes("research", "Ready", "True", "Ready")
    bench.change("research", features=["client_events", "client_events"])
    await bench.becomes("research", "Ready", "False", "InvalidSpec")
    await bench.idle()
    bench.operator.queue.add(("team-a", "research"))
    await bench.idle()
    assert told(bench)[1:] == [
        ("Normal", "RolloutStarted"),
        ("Normal", "Ready"),
        ("Warning", "InvalidSpec"),
    ]


async def test_a_repair_is_told(bench: Bench) -> None:
    await bench.serve()
    obj = bench.api.objects[f"{SERVICE}/research-api"]
    obj["spec"]["type"] = "NodePort"
    bench.api.put(f"{SERVICE}/research-api", obj)
    await eventually(lambda: _as_async(("Warning", "DriftRepaired") in told(bench) or None))


async def test_events_that_cannot_be_written_stop_nothing(bench: Bench) -> None:
    bench.api.failures["POST", f"/api/v1{NS}/events"] = (403, "cannot create events")
    await bench.serve()
    assert told(bench) == []


async def test_a_model_that_flaps_does_not_flood_the_api_server(bench: Bench) -> None:
    await bench.serve()
    events = bench.operator.reconciler._events
    obj = bench.api.objects[f"{MODEL}/research"]
    bench.api.calls.clear()
    for number in range(100):
        await events.tell(obj, EventType.WARNING, "Flaps", str(number))
    assert len(bench.api.calls) == 24, "25 of a model, and one told that it is ready"
    await events.tell(stored("other"), EventType.WARNING, "Flaps", "another model has its own")
    assert len(bench.api.calls) == 25
