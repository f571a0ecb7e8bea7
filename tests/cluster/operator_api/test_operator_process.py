"""The operator as a process against a real API server; the test plays the kubelet."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from operator_kit.cut import Relay
from operator_kit.live_api import LiveApi, container_status, eventually
from operator_kit.process import WRITING, OperatorProcess
from operator_kit.samples import Object, manifest

CHILDREN = (("Deployment", "{}-api"), ("Service", "{}-api"), ("ServiceAccount", "{}"))


async def serve(api: LiveApi, *names: str) -> None:
    """Create models and bring them to Ready."""
    for name in names:
        await api.create(manifest(name, api.namespace))
    for name in names:
        await api.become_ready(name)
    for name in names:
        await api.condition_becomes(name, "Ready", "True")


@pytest.mark.usefixtures("running")
async def test_two_models_get_their_objects_registry_entries_and_status(api: LiveApi) -> None:
    for name in ("one", "two"):
        await api.create(manifest(name, api.namespace, description=f"model {name}"))
    for name in ("one", "two"):
        found = await api.condition_becomes(name, "Ready", "Unknown", "Reconciling")
        assert found["message"] == "The API's pods are starting."
    entries = {key: json.loads(text) for key, text in (await api.registry()).items()}
    assert {key: entry["state"] for key, entry in entries.items()} == {
        "one.json": "starting",
        "two.json": "starting",
    }
    for name in ("one", "two"):
        await api.become_ready(name)
        await api.condition_becomes(name, "Ready", "True", "Ready")
        model = await api.model(name)
        assert model["status"]["observedGeneration"] == model["metadata"]["generation"]
        assert model["status"]["api"]["summary"] == "1/1"
        assert [c["type"] for c in model["status"]["conditions"]] == [
            "Accepted",
            "ApiAvailable",
            "Registered",
            "Ready",
        ]
        for kind, pattern in CHILDREN:
            child = await api.get(kind, pattern.format(name))
            assert child is not None
            [owner] = child["metadata"]["ownerReferences"]
            assert owner["uid"] == model["metadata"]["uid"]
            managers = {entry["manager"] for entry in child["metadata"]["managedFields"]}
            assert "lgos-operator" in managers
        entry = json.loads((await api.registry())[f"{name}.json"])
        deployment = await api.get("Deployment", f"{name}-api")
        assert deployment is not None
        annotations = deployment["spec"]["template"]["metadata"]["annotations"]
        assert entry["state"] == "serving"
        assert entry["description"] == f"model {name}"
        assert annotations == {"lgos.dev/config-hash": entry["revision"]}


async def test_creating_a_model_takes_few_writes(api: LiveApi, running: OperatorProcess) -> None:
    await serve(api, "one")
    writes = await running.requests(*WRITING)
    assert sum(writes.values()) <= 9, writes
    assert all(code in {"200", "201"} for _, _, code in writes), writes


@pytest.mark.usefixtures("running")
async def test_a_change_of_settings_touches_only_that_model(api: LiveApi) -> None:
    await serve(api, "one", "two")
    before = await api.versions()
    revision = json.loads((await api.registry())["one.json"])["revision"]
    await api.merge("LanggraphModel", "one", {"spec": {"settings": {"audience": "expert"}}})
    await api.condition_becomes("one", "Ready", "Unknown", "Reconciling")
    assert (await api.condition("one", "ApiAvailable"))["status"] == "True"
    entry = json.loads((await api.registry())["one.json"])
    assert entry["settings"] == {"audience": "expert"}
    assert entry["state"] == "serving", "a rollout takes nothing back"
    assert entry["revision"] != revision
    await api.become_ready("one")
    await api.condition_becomes("one", "Ready", "True")
    after = await api.versions()
    changed = {key for key in after if before.get(key) != after[key]}
    assert changed == {
        ("LanggraphModel", "one"),
        ("Deployment", "one-api"),
        ("ConfigMap", "lgos-model-registry"),
    }


async def test_steady_state_and_restart_write_nothing(
    api: LiveApi, running: OperatorProcess, start_operator: Callable[..., OperatorProcess]
) -> None:
    await api.create(
        manifest("full", api.namespace)
        | {
            "spec": {
                "image": "x@sha256:" + "0" * 64,
                "graph": "a.b:c",
                "env": [{"name": "EMPTY", "value": ""}, {"name": "B", "value": "1"}],
                "envFrom": [{"secretRef": {"name": "s", "optional": False}}],
                "imagePullSecrets": [{"name": "p"}],
                "settings": {"ratio": 1.0, "nested": {"é": [1, None, "x"]}},
                "podTemplate": {
                    "metadata": {"annotations": {"note": ""}},
                    "spec": {
                        "hostNetwork": False,
                        "tolerations": [{"operator": "Exists"}],
                        "containers": [{"name": "side", "image": "side:1", "tty": False}],
                    },
                },
                "api": {
                    "replicas": 2,
                    "resources": {
                        "requests": {"cpu": "9000.0", "memory": "1024Mi"},
                        "limits": {"cpu": "9e3", "memory": "1Gi"},
                    },
                },
            }
        }
    )
    await api.become_ready("full")
    await api.condition_becomes("full", "Ready", "True")
    scaling = {"maxReplicas": 3, "behavior": {"scaleDown": {"stabilizationWindowSeconds": 60}}}
    scaled = {"autoscaling": scaling, "resources": {"requests": {"cpu": "9000"}}}
    await api.create(manifest("one", api.namespace, api=scaled))
    await api.become_ready("one")
    await api.condition_becomes("one", "Ready", "True")
    for kind, name in (("PodDisruptionBudget", "full-api"), ("HorizontalPodAutoscaler", "one-api")):
        assert await api.get(kind, name) is not None
    await settled(api, running)
    before = await api.versions()
    writes = await running.requests(*WRITING, "GET")
    looks = await reconciles(running)
    # Events that change nothing for us: each is a look, none may be a write.
    for name in ("one-api", "full-api"):
        await api.merge("Deployment", name, {"metadata": {"annotations": {"foreign": "1"}}})
        await api.merge("Service", name, {"metadata": {"labels": {"foreign": "1"}}})

    async def looked() -> bool | None:
        return await reconciles(running) >= looks + 2 or None

    await eventually(looked)
    assert await running.requests(*WRITING, "GET") == writes
    code, seconds = await running.stop()
    assert code == 0
    assert seconds < 5
    foreign = await api.versions()
    assert {key for key in foreign if foreign[key] != before[key]} == {
        (kind, name) for kind in ("Deployment", "Service") for name in ("one-api", "full-api")
    }
    again = start_operator()
    await again.start()

    async def all_looked_at() -> bool | None:
        return await reconciles(again) >= 2 or None

    await eventually(all_looked_at)
    assert await again.requests(*WRITING) == {}
    assert await api.versions() == foreign


async def settled(api: LiveApi, operator: OperatorProcess) -> None:
    """Wait until nothing was written for longer than the operator holds back pod counts."""
    last = await api.versions()
    quiet_since = asyncio.get_running_loop().time()

    async def quiet() -> bool | None:
        nonlocal last, quiet_since
        now = await api.versions()
        if now != last:
            last, quiet_since = now, asyncio.get_running_loop().time()
        return asyncio.get_running_loop().time() - quiet_since > 3 or None

    await eventually(quiet, otherwise=operator.tell)


async def reconciles(operator: OperatorProcess) -> int:
    text = await operator.metrics()
    lines = [line for line in text.splitlines() if line.startswith("lgos_operator_reconcile_total")]
    return int(sum(float(line.split()[-1]) for line in lines))


async def test_drift_is_repaired_and_foreign_fields_stay(
    api: LiveApi, running: OperatorProcess
) -> None:
    await serve(api, "one")
    body = {
        "metadata": {"labels": {"foreign": "1", "app.kubernetes.io/part-of": "other"}},
        "spec": {"replicas": 3},
    }
    await api.merge("Deployment", "one-api", body)

    async def repaired() -> Object | None:
        found = await api.get("Deployment", "one-api")
        assert found is not None
        fixed = found["spec"]["replicas"] == 1
        return (
            found
            if fixed and found["metadata"]["labels"]["app.kubernetes.io/part-of"] == "lgos"
            else None
        )

    found = await eventually(repaired, within=5)
    assert found["metadata"]["labels"]["foreign"] == "1"
    assert 'lgos_operator_drift_repairs_total{kind="Deployment"} 1.0' in await running.metrics()
    events = [
        event
        for event in await api.list("Event")
        if event["involvedObject"]["kind"] == "LanggraphModel"
    ]
    model = await api.model("one")
    assert {event["involvedObject"]["uid"] for event in events} == {model["metadata"]["uid"]}
    assert {"Ready", "DriftRepaired"} <= {event["reason"] for event in events}
    await api.delete("Service", "one-api")

    async def back() -> bool | None:
        return await api.get("Service", "one-api") is not None or None

    await eventually(back, within=5)


@pytest.mark.usefixtures("running")
async def test_a_deleted_model_leaves_the_registry_at_once_and_no_object(api: LiveApi) -> None:
    await serve(api, "one", "two")
    await api.delete("LanggraphModel", "one")

    async def unlisted() -> bool | None:
        return "one.json" not in await api.registry() or None

    await eventually(unlisted, within=2)

    async def collected() -> bool | None:
        left = [await api.get(kind, pattern.format("one")) for kind, pattern in CHILDREN]
        return left == [None, None, None] or None

    await eventually(collected)
    assert set(await api.registry()) == {"two.json"}
    assert (await api.condition("two", "Ready"))["status"] == "True"


@pytest.mark.usefixtures("running")
async def test_a_deleted_registry_comes_back_with_states_and_without_strays(api: LiveApi) -> None:
    await serve(api, "one")
    before = await api.registry()
    await api.delete("ConfigMap", "lgos-model-registry")

    async def back() -> bool | None:
        return await api.registry() == before or None

    await eventually(back, within=5)
    await api.merge(
        "ConfigMap", "lgos-model-registry", {"data": {"stray.json": "{}", "one.json": "{"}}
    )
    await eventually(back, within=5)


@pytest.mark.usefixtures("running")
async def test_the_older_of_two_models_keeps_the_name_until_it_goes(api: LiveApi) -> None:
    await api.create(manifest("first", api.namespace, modelName="shared"))
    await api.condition_becomes("first", "Accepted", "True")
    # creationTimestamp has seconds; of equal ones the uid decides.
    await asyncio.sleep(1.1)
    await api.create(manifest("second", api.namespace, modelName="shared"))
    found = await api.condition_becomes("second", "Ready", "False", "ModelNameConflict")
    assert f"{api.namespace}/first" in found["message"]
    assert (await api.condition("second", "Stalled"))["status"] == "True"
    assert set(await api.registry()) == {"first.json"}
    assert await api.get("Deployment", "second-api") is None
    await api.delete("LanggraphModel", "first")
    await api.condition_becomes("second", "Accepted", "True")
    await api.become_ready("second")
    await api.condition_becomes("second", "Ready", "True")
    assert set(await api.registry()) == {"second.json"}


async def test_a_model_deleted_while_the_api_server_was_away_is_found(
    api: LiveApi,
    start_operator: Callable[..., OperatorProcess],
    kubeconfig_api: Path,
    tmp_path: Path,
) -> None:
    document = yaml.safe_load(await asyncio.to_thread(Path(kubeconfig_api).read_text))
    cluster = document["clusters"][0]["cluster"]
    host, _, port = cluster["server"].removeprefix("https://").rpartition(":")
    async with Relay(host, int(port)) as relay:
        cluster["server"] = f"https://127.0.0.1:{relay.port}"
        cluster["tls-server-name"] = host
        kubeconfig = tmp_path / "relayed.kubeconfig"
        kubeconfig.write_text(yaml.safe_dump(document))
        operator = start_operator(kubeconfig)
        await operator.start()
        await serve(api, "one", "two")
        await relay.cut()
        await api.delete("LanggraphModel", "one")
        await api.delete("LanggraphModel", "two")
        await relay.restore()

        async def unlisted() -> bool | None:
            return await api.registry() == {} or None

        await eventually(unlisted, within=40, otherwise=operator.tell)
        assert (await asyncio.to_thread(operator.fetch, operator.health_port, "/healthz"))[0] == 200


@pytest.mark.parametrize(
    ("state", "reason", "words"),
    [
        (
            {"state": {"waiting": {"reason": "ErrImagePull", "message": "not found"}}},
            "ImagePullBackOff",
            ("team-a/research:1.2", "spec.image", "spec.imagePullSecrets"),
        ),
        (
            {
                "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s"}},
                "lastState": {
                    "terminated": {
                        "exitCode": 1,
                        "reason": "Error",
                        "message": "loading\nno attribute 'config'\n",
                    }
                },
                "restartCount": 3,
            },
            "CrashLoopBackOff",
            ("no attribute 'config'",),
        ),
    ],
)
@pytest.mark.usefixtures("running")
async def test_a_pod_that_cannot_start_says_why_within_ten_seconds(
    api: LiveApi,
    state: Object,
    reason: str,
    words: tuple[str, ...],
) -> None:
    await serve(api, "fine")
    await api.create(manifest("broken", api.namespace))

    async def pod() -> Object | None:
        return next(iter(await api.pods("broken")), None)

    found = await eventually(pod)
    await api.set_pod(found, container_status(**state))
    condition = await api.condition_becomes("broken", "Ready", "False", reason, within=10)
    assert all(word in condition["message"] for word in words), condition
    assert (await api.condition("fine", "Ready"))["status"] == "True"
    await api.become_ready("broken")
    await api.condition_becomes("broken", "Ready", "True")


@pytest.mark.usefixtures("running")
async def test_a_quota_is_named_and_the_model_recovers_when_it_goes(api: LiveApi) -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "none"},
        "spec": {"hard": {"pods": "0"}},
    }
    await api.create(quota)

    async def enforced() -> bool | None:
        found = await api.get("ResourceQuota", "none")
        return (found is not None and "hard" in found.get("status", {})) or None

    await eventually(enforced)
    await api.create(manifest("later", api.namespace))
    found = await api.condition_becomes("later", "Ready", "False", "QuotaExceeded")
    assert "none" in found["message"]
    await api.delete("ResourceQuota", "none")
    await api.become_ready("later")
    await api.condition_becomes("later", "Ready", "True")


@pytest.mark.usefixtures("running")
async def test_an_unknown_field_of_a_passed_on_object_is_named(api: LiveApi) -> None:
    await api.create(manifest("typo", api.namespace, env=[{"name": "A", "valueForm": {}}]))
    found = await api.condition_becomes("typo", "Ready", "False", "ApplyRefused")
    assert "valueForm" in found["message"]
    await api.merge("LanggraphModel", "typo", {"spec": {"env": None}})
    await api.become_ready("typo")
    await api.condition_becomes("typo", "Ready", "True")


@pytest.mark.usefixtures("running")
async def test_objects_of_others_are_never_taken_over(api: LiveApi) -> None:
    await api.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "mine"}})
    await api.create(manifest("mine", api.namespace))
    found = await api.condition_becomes("mine", "Ready", "False", "NameTaken")
    assert "spec.serviceAccountName" in found["message"]
    await api.merge("LanggraphModel", "mine", {"spec": {"serviceAccountName": "mine"}})
    await api.become_ready("mine")
    await api.condition_becomes("mine", "Ready", "True")
    account = await api.get("ServiceAccount", "mine")
    assert account is not None
    assert "ownerReferences" not in account["metadata"]


@pytest.mark.usefixtures("running")
async def test_an_own_service_account_goes_when_the_manifest_names_another(api: LiveApi) -> None:
    await serve(api, "one")
    await api.merge("LanggraphModel", "one", {"spec": {"serviceAccountName": "default"}})

    async def gone() -> bool | None:
        return await api.get("ServiceAccount", "one") is None or None

    await eventually(gone, within=5)
    await api.become_ready("one")
    await api.condition_becomes("one", "Ready", "True")


@pytest.mark.usefixtures("running")
async def test_removing_a_variable_removes_it_from_the_pods(api: LiveApi) -> None:
    both = [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]
    await api.create(manifest("envs", api.namespace, env=both))
    await api.become_ready("envs")
    await api.condition_becomes("envs", "Ready", "True")
    await api.merge("LanggraphModel", "envs", {"spec": {"env": both[:1]}})

    async def removed() -> bool | None:
        found = await api.get("Deployment", "envs-api")
        assert found is not None
        [container] = found["spec"]["template"]["spec"]["containers"]
        names = {variable["name"] for variable in container["env"]}
        return ("A" in names and "B" not in names) or None

    await eventually(removed, within=5)


@pytest.mark.usefixtures("running")
async def test_a_model_created_again_under_its_name_starts_anew(api: LiveApi) -> None:
    await serve(api, "one")
    await asyncio.sleep(1.1)  # creationTimestamp has seconds
    await api.delete("LanggraphModel", "one")
    await api.create(manifest("one", api.namespace))
    await api.condition_becomes("one", "Ready", "Unknown", "Reconciling")

    async def starting() -> bool | None:
        text = (await api.registry()).get("one.json")
        return (text is not None and json.loads(text)["state"] == "starting") or None

    await eventually(starting)
    await api.become_ready("one")
    await api.condition_becomes("one", "Ready", "True")
