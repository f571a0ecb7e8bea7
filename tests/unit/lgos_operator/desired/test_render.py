from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from lgos_contract.manifest import LanggraphModel
from lgos_contract.registry import ModelState, load_entry
from lgos_operator.desired import registry_config_map, registry_entry, render
from lgos_operator.resource import Owner
from lgos_operator.settings import ModelDefaults
from operator_kit.samples import manifest

GOLDEN = Path(__file__).parent / "golden"
OWNER = Owner(uid="0c5c8f0e", created=1767323045)
SPECS: dict[str, dict[str, Any]] = {
    "small": {"api": {}},
    "full": {
        "image": "example/team/research@sha256:0123456789abcdef",
        "imagePullPolicy": "Always",
        "imagePullSecrets": [{"name": "mine"}],
        "modelName": "team/research:2",
        "description": "Answers questions.",
        "features": ["client_events"],
        "settings": {"audience": "expert"},
        "env": [{"name": "HOME", "value": "/data"}, {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}],
        "envFrom": [{"configMapRef": {"name": "own"}}],
        "serviceAccountName": "robot",
        "api": {
            "replicas": 3,
            "resources": {"limits": {"memory": "1Gi"}},
            "drainSeconds": 120,
            "terminationGracePeriodSeconds": 122,
        },
    },
    "scaled": {
        "api": {
            "autoscaling": {
                "minReplicas": 2,
                "maxReplicas": 6,
                "targetCPUUtilization": 70,
                "behavior": {"scaleDown": {"stabilizationWindowSeconds": 60}},
            },
            "podDisruptionBudget": {"maxUnavailable": 2},
        },
        "podTemplate": {
            "metadata": {"labels": {"team": "a"}, "annotations": {"note": "x"}},
            "spec": {
                "nodeSelector": {"disk": "ssd"},
                "tolerations": [{"key": "gpu", "operator": "Exists"}],
                "containers": [
                    {"name": "api", "volumeMounts": [{"name": "data", "mountPath": "/data"}]},
                    {"name": "side", "image": "side:1"},
                ],
                "volumes": [{"name": "data", "emptyDir": {}}],
            },
        },
    },
}  # fmt: skip
DEFAULTS = ModelDefaults.model_validate(
    {
        "envFrom": [{"secretRef": {"name": "lgos-platform"}}],
        "imagePullSecrets": [{"name": "corp"}],
        "resources": {"requests": {"cpu": "100m"}},
    }
)


def model(**spec: Any) -> LanggraphModel:
    return LanggraphModel.model_validate(manifest(**spec))


def by_kind(objects: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {obj["kind"]: obj for obj in objects}


def container_of(objects: list[dict[str, Any]]) -> dict[str, Any]:
    [container] = by_kind(objects)["Deployment"]["spec"]["template"]["spec"]["containers"]
    return dict(container)


@pytest.mark.parametrize("name", sorted(SPECS))
def test_rendered_objects_are_the_golden_ones(name: str) -> None:
    rendered = render(model(**SPECS[name]), owner=OWNER, defaults=DEFAULTS)
    text = yaml.safe_dump_all(rendered, sort_keys=True)
    assert text == (GOLDEN / f"{name}.yaml").read_text(), (
        "if meant, write the new text into the file"
    )


def test_without_an_owner_there_is_no_owner_reference() -> None:
    for obj in render(model()):
        assert "ownerReferences" not in obj["metadata"]


def test_a_file_without_a_namespace_renders_into_default() -> None:
    raw = manifest()
    del raw["metadata"]["namespace"]
    rendered = render(LanggraphModel.model_validate(raw))
    assert {obj["metadata"]["namespace"] for obj in rendered} == {"default"}


def test_a_named_service_account_replaces_the_own_one() -> None:
    assert "ServiceAccount" in by_kind(render(model()))
    rendered = by_kind(render(model(serviceAccountName="robot")))
    assert "ServiceAccount" not in rendered
    assert rendered["Deployment"]["spec"]["template"]["spec"]["serviceAccountName"] == "robot"


def test_what_the_manifest_says_wins_over_the_installation() -> None:
    plain = render(model(api={}), defaults=DEFAULTS)
    pod = by_kind(plain)["Deployment"]["spec"]["template"]["spec"]
    assert pod["imagePullSecrets"] == [{"name": "corp"}]
    assert container_of(plain)["resources"] == {"requests": {"cpu": "100m"}}
    own = render(
        model(
            imagePullSecrets=[{"name": "mine"}],
            envFrom=[{"configMapRef": {"name": "own"}}],
            api={"resources": {"limits": {"cpu": "1"}}},
        ),
        defaults=DEFAULTS,
    )
    pod = by_kind(own)["Deployment"]["spec"]["template"]["spec"]
    assert pod["imagePullSecrets"] == [{"name": "mine"}]
    assert container_of(own)["resources"] == {"limits": {"cpu": "1"}}
    sources = container_of(own)["envFrom"]
    assert sources == [{"secretRef": {"name": "lgos-platform"}}, {"configMapRef": {"name": "own"}}]


@pytest.mark.parametrize(
    ("drain", "grace", "sleep"), [(25, 40, 3), (25, 27, 2), (0, 1, None), (0, 2, 1), (0, 90, 3)]
)
def test_the_pre_stop_sleep_fits_into_the_grace_period(
    drain: int, grace: int, sleep: int | None
) -> None:
    api = {"drainSeconds": drain, "terminationGracePeriodSeconds": grace}
    lifecycle = container_of(render(model(api=api))).get("lifecycle")
    assert lifecycle == ({"preStop": {"sleep": {"seconds": sleep}}} if sleep else None)


def test_the_pod_carries_the_revision_of_its_registry_entry() -> None:
    rendered = render(model(settings={"a": 1}), owner=OWNER)
    entry = registry_entry(model(settings={"a": 1}), created=OWNER.created)
    template = by_kind(rendered)["Deployment"]["spec"]["template"]
    assert template["metadata"]["annotations"]["lgos.dev/config-hash"] == entry.revision
    variables = {v["name"]: v.get("value") for v in container_of(rendered)["env"]}
    assert variables["LGOS_REVISION"] == entry.revision
    assert variables["LGOS_MODEL"] == "research"
    assert variables["LGOS_NAMESPACE"] == "team-a"
    assert variables["LGOS_DRAIN_SECONDS"] == "25"
    mounts = {mount["name"]: mount["mountPath"] for mount in container_of(rendered)["volumeMounts"]}
    assert variables["HOME"] == mounts["tmp"]


def test_being_served_changes_no_pod() -> None:
    starting = registry_entry(model(), created=1)
    serving = registry_entry(model(), created=1, state=ModelState.SERVING)
    assert starting.revision == serving.revision
    assert serving.base_url == "http://research-api.team-a.svc:8000/v1"


def test_the_registry_config_map_is_found_by_label() -> None:
    found = registry_config_map("team-a", {"a.json": "{}"})
    assert found["metadata"]["name"] == "lgos-model-registry"
    assert found["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "lgos-operator"
    assert found["data"] == {"a.json": "{}"}


def test_an_autoscaler_decides_the_replicas() -> None:
    rendered = by_kind(render(model(**SPECS["scaled"])))
    assert "replicas" not in rendered["Deployment"]["spec"]
    target = rendered["HorizontalPodAutoscaler"]["spec"]["scaleTargetRef"]
    assert target["name"] == rendered["Deployment"]["metadata"]["name"]


def test_the_documented_model_gets_an_autoscaler_and_a_disruption_budget() -> None:
    page = Path(__file__).parents[4] / "docs" / "how-to" / "scaled-model.yaml"
    rendered = by_kind(render(LanggraphModel.model_validate(yaml.safe_load(page.read_text()))))
    assert rendered["HorizontalPodAutoscaler"]["spec"]["maxReplicas"] == 6
    assert rendered["PodDisruptionBudget"]["spec"]["maxUnavailable"] == 1
    pod = rendered["Deployment"]["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == {"disk": "ssd"}


def test_a_suspended_model_has_no_pods_and_nothing_that_would_make_some() -> None:
    rendered = by_kind(render(model(**SPECS["scaled"], suspend=True)))
    assert rendered["Deployment"]["spec"]["replicas"] == 0
    assert {"HorizontalPodAutoscaler", "PodDisruptionBudget"}.isdisjoint(rendered)


@pytest.mark.parametrize(
    ("api", "has_budget"),
    [
        ({}, False),
        ({"replicas": 1}, False),
        ({"replicas": 2}, True),
        ({"replicas": 2, "podDisruptionBudget": {"enabled": False}}, False),
        ({"autoscaling": {"maxReplicas": 3}}, False),
        ({"autoscaling": {"minReplicas": 2, "maxReplicas": 3}}, True),
    ],
)
def test_a_disruption_budget_needs_two_pods(api: dict[str, Any], has_budget: bool) -> None:
    assert ("PodDisruptionBudget" in by_kind(render(model(api=api)))) is has_budget


def test_an_overlay_is_merged_and_takes_nothing_away() -> None:
    plain = by_kind(render(model(api={})))["Deployment"]["spec"]["template"]
    overlay = {
        "metadata": {"labels": {"team": "a"}},
        "spec": {
            "securityContext": {"fsGroup": 7},
            "containers": [{"name": "api", "env": [{"name": "HOME", "value": "/data"}]}],
        },
    }
    laid = by_kind(render(model(api={}, podTemplate=overlay)))["Deployment"]["spec"]["template"]
    assert laid["metadata"]["labels"] == {**plain["metadata"]["labels"], "team": "a"}
    assert laid["spec"]["securityContext"] == {**plain["spec"]["securityContext"], "fsGroup": 7}
    [before], [after] = plain["spec"]["containers"], laid["spec"]["containers"]
    assert {v["name"]: v["value"] for v in after["env"]} == {
        **{v["name"]: v["value"] for v in before["env"]},
        "HOME": "/data",
    }
    assert {**after, "env": None} == {**before, "env": None}
    assert laid["spec"]["volumes"] == plain["spec"]["volumes"]


names = st.from_regex(r"[a-z]([-a-z0-9]{0,50}[a-z0-9])?", fullmatch=True)
specs = st.fixed_dictionaries(
    {"image": st.from_regex(r"[!-~]{1,80}", fullmatch=True)},
    optional={
        "settings": st.dictionaries(st.text(max_size=8), st.integers() | st.text(max_size=8), max_size=4),
        "description": st.text(max_size=40),
        "features": st.sampled_from([[], ["client_events"]]),
        "api": st.fixed_dictionaries({"replicas": st.integers(0, 1000), "drainSeconds": st.integers(0, 39)}),
        "env": st.lists(st.sampled_from(["A", "B", "HOME"]), unique=True).map(
            lambda names: [{"name": name, "value": "x"} for name in names]
        ),
    },
)  # fmt: skip


@given(name=names, spec=specs)
def test_any_manifest_renders_the_same_restricted_objects_each_time(
    name: str, spec: dict[str, Any]
) -> None:
    raw = manifest(name, **spec)
    first = render(LanggraphModel.model_validate(raw), owner=OWNER, defaults=DEFAULTS)
    assert first == render(LanggraphModel.model_validate(raw), owner=OWNER, defaults=DEFAULTS)
    for obj in first:
        metadata = obj["metadata"]
        assert len(metadata["name"]) <= 63
        assert all(len(value) <= 63 for value in metadata["labels"].values())
    deployment = by_kind(first)["Deployment"]
    pod = deployment["spec"]["template"]["spec"]
    selected = deployment["spec"]["selector"]["matchLabels"]
    assert selected == by_kind(first)["Service"]["spec"]["selector"]
    assert set(selected) == {
        f"app.kubernetes.io/{part}" for part in ("name", "instance", "component")
    }
    assert selected.items() <= deployment["spec"]["template"]["metadata"]["labels"].items()
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert "runAsUser" not in pod["securityContext"]
    security = container_of(first)["securityContext"]
    assert security["allowPrivilegeEscalation"] is False
    assert security["readOnlyRootFilesystem"] is True
    assert security["capabilities"] == {"drop": ["ALL"]}
    entry_names = [variable["name"] for variable in container_of(first)["env"]]
    assert len(entry_names) == len(set(entry_names)), "server-side apply refuses doubles"


@given(spec=specs)
def test_what_the_registry_holds_is_what_was_wanted(spec: dict[str, Any]) -> None:
    from lgos_contract.registry import dump_entry

    entry = registry_entry(model(**spec), created=5)
    assert load_entry(dump_entry(entry)) == entry
