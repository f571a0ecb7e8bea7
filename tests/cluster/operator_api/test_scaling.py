"""Autoscaling, suspension and overlays on a real API server, which knows the owners of fields; the test is the autoscaler."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from operator_kit.live_api import LiveApi, eventually
from operator_kit.process import WRITING, OperatorProcess
from operator_kit.samples import manifest

REQUESTS = {"requests": {"cpu": "9000"}}
SCALED = {"autoscaling": {"minReplicas": 1, "maxReplicas": 6}, "resources": REQUESTS}


async def replicas(api: LiveApi, name: str) -> int:
    deployment = await api.get("Deployment", f"{name}-api")
    assert deployment is not None
    return int(deployment["spec"]["replicas"])


async def settled(api: LiveApi, name: str) -> None:
    """Wait until the Deployment has its registry entry's revision and the autoscaler's existence is decided."""

    async def look() -> bool | None:
        deployment = await api.get("Deployment", f"{name}-api")
        entry = (await api.registry()).get(f"{name}.json")
        model = await api.model(name)
        if deployment is None or entry is None:
            return None
        annotations = deployment["spec"]["template"]["metadata"]["annotations"]
        scaler = await api.get("HorizontalPodAutoscaler", f"{name}-api")
        spec = model["spec"]
        wants_scaler = "autoscaling" in spec["api"] and not spec["suspend"]
        same = annotations["lgos.dev/config-hash"] == json.loads(entry)["revision"]
        return (same and (scaler is not None) == wants_scaler) or None

    await eventually(look)


async def watched_replicas(api: LiveApi, name: str, version: str, found: list[int]) -> None:
    """Collect what each event of the Deployment says of its replicas."""
    path = api.path("Deployment")
    async for event in api.client.watch(path, resource_version=version):
        obj = event["object"]
        found += [obj["spec"]["replicas"]] * (obj["metadata"].get("name") == f"{name}-api")


@pytest.mark.usefixtures("running")
async def test_what_an_autoscaler_decided_is_kept_at_every_moment(api: LiveApi) -> None:
    await api.create(manifest("scaled", api.namespace, api=SCALED))
    await settled(api, "scaled")
    answer = await api.merge("Deployment", "scaled-api", {"spec": {"replicas": 4}}, "scale")
    seen: list[int] = []
    version = answer["metadata"]["resourceVersion"]
    watching = asyncio.create_task(watched_replicas(api, "scaled", version, seen))
    before = (await api.registry())["scaled.json"]
    await api.merge("LanggraphModel", "scaled", {"spec": {"description": "another one"}})

    async def rolled() -> bool | None:
        return (await api.registry())["scaled.json"] != before or None

    await eventually(rolled)
    await settled(api, "scaled")
    await eventually(lambda: _value(bool(seen) or None))
    watching.cancel()
    assert set(seen) == {4}
    assert await replicas(api, "scaled") == 4


@pytest.mark.usefixtures("running")
async def test_replicas_survive_the_change_to_an_autoscaler_and_back(api: LiveApi) -> None:
    await api.create(manifest("m", api.namespace, api={"replicas": 3, "resources": REQUESTS}))
    await settled(api, "m")
    change: dict[str, Any] = {"replicas": None, "autoscaling": {"maxReplicas": 6}}
    await api.merge("LanggraphModel", "m", {"spec": {"api": change}})
    await settled(api, "m")
    assert await replicas(api, "m") == 3
    await api.merge("Deployment", "m-api", {"spec": {"replicas": 5}}, "scale")
    await api.merge("LanggraphModel", "m", {"spec": {"settings": {"a": 1}}})
    await settled(api, "m")
    assert await replicas(api, "m") == 5
    back: dict[str, Any] = {"replicas": 2, "autoscaling": None}
    await api.merge("LanggraphModel", "m", {"spec": {"api": back}})

    async def fixed() -> bool | None:
        return await replicas(api, "m") == 2 or None

    await eventually(fixed)
    await settled(api, "m")
    assert await api.get("PodDisruptionBudget", "m-api") is not None


async def test_a_suspended_model_stops_and_starts_again_with_its_autoscaler(
    api: LiveApi, running: OperatorProcess
) -> None:
    scaled = {**SCALED, "autoscaling": {"minReplicas": 2, "maxReplicas": 6}}
    await api.create(manifest("m", api.namespace, api=scaled))
    await settled(api, "m")
    await api.merge("LanggraphModel", "m", {"spec": {"suspend": True}})
    await api.condition_becomes("m", "Ready", "True", "Suspended")
    await settled(api, "m")
    assert await replicas(api, "m") == 0
    assert json.loads((await api.registry())["m.json"])["state"] == "suspended"
    before = await running.requests(*WRITING)
    await api.merge("LanggraphModel", "m", {"metadata": {"annotations": {"note": "x"}}})
    await api.merge("LanggraphModel", "m", {"spec": {"suspend": False}})
    await settled(api, "m")

    async def awake() -> bool | None:
        return await replicas(api, "m") == 2 or None

    await eventually(awake)
    await api.become_ready("m")
    await api.condition_becomes("m", "Ready", "True", "Ready")
    assert json.loads((await api.registry())["m.json"])["state"] == "serving"
    after = await running.requests(*WRITING)
    assert sum(after.values()) - sum(before.values()) <= 14, after


@pytest.mark.usefixtures("running")
async def test_what_leaves_the_overlay_and_env_leaves_the_pods_in_one_rollout(api: LiveApi) -> None:
    spec: dict[str, Any] = {
        "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
        "podTemplate": {"spec": {"nodeSelector": {"disk": "ssd"}, "hostNetwork": False}},
    }
    await api.create(manifest("envs", api.namespace, **spec))
    await settled(api, "envs")
    first = await api.get("Deployment", "envs-api")
    assert first is not None
    assert first["spec"]["template"]["spec"]["nodeSelector"] == {"disk": "ssd"}
    change: dict[str, Any] = {"env": [{"name": "A", "value": "1"}], "podTemplate": None}
    await api.merge("LanggraphModel", "envs", {"spec": change})

    async def changed() -> dict[str, Any] | None:
        found = await api.get("Deployment", "envs-api")
        assert found is not None
        return found if "nodeSelector" not in found["spec"]["template"]["spec"] else None

    last = await eventually(changed)
    [container] = last["spec"]["template"]["spec"]["containers"]
    names = [variable["name"] for variable in container["env"]]
    assert "A" in names
    assert "B" not in names
    assert last["metadata"]["generation"] == first["metadata"]["generation"] + 1


async def test_an_overlay_with_values_that_are_not_stored_writes_nothing_more(
    api: LiveApi, running: OperatorProcess
) -> None:
    overlay = {
        "spec": {
            "hostNetwork": False,
            "tolerations": [{"key": "gpu", "operator": "Exists"}],
            "containers": [
                {"name": "side", "image": "side:1", "tty": False, "resources": {"limits": {"cpu": "0.1"}}}
            ],
        }
    }  # fmt: skip
    await api.create(manifest("m", api.namespace, podTemplate=overlay))
    await api.become_ready("m")
    await api.condition_becomes("m", "Ready", "True")
    before = await running.requests(*WRITING)
    await api.merge("LanggraphModel", "m", {"metadata": {"annotations": {"note": "x"}}})
    await api.merge("Deployment", "m-api", {"metadata": {"annotations": {"note": "x"}}})
    await api.create(manifest("other", api.namespace))
    await api.become_ready("other")
    await api.condition_becomes("other", "Ready", "True")
    after = await running.requests(*WRITING)
    own = {call: n - before.get(call, 0) for call, n in after.items() if n > before.get(call, 0)}
    assert sum(n for call, n in own.items() if call[1] == "deployments") == 1, own


async def _value(value: bool | None) -> bool | None:
    return value
