"""What the chart renders, by Helm itself."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from house import chart_crd, values_reference
from tools.helm import helm_binary

ROOT = Path(__file__).parents[3]
CHART = ROOT / "charts" / "lgos"
Render = Callable[..., list[dict[str, Any]]]
SWEEP = ("--set", "sweep.enabled=true", "--set", "sweep.image.repository=team/models")
"""Everything that the chart can render is rendered with these."""


@pytest.fixture(scope="session")
def helm() -> str:
    return str(helm_binary())


def run(helm: str, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([helm, *args], capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture(scope="session")
def render(helm: str) -> Render:
    def rendered(*args: str, name: str = "rel") -> list[dict[str, Any]]:
        done = run(helm, "template", name, str(CHART), "--namespace", "lgos-system", *args)
        assert done.returncode == 0, done.stderr
        return [document for document in yaml.safe_load_all(done.stdout) if document]

    return rendered


def of_kind(documents: list[dict[str, Any]], *kinds: str) -> list[dict[str, Any]]:
    return [document for document in documents if document["kind"] in kinds]


def test_helm_lint_has_nothing_to_say(helm: str) -> None:
    done = run(helm, "lint", "--strict", str(CHART))
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("gatway.replicas=2", "gatway"),
        ("gateway.replicas=two", "gateway"),
        ("logLevel=loud", "logLevel"),
        ("operator.image.digest=abc", "digest"),
        ("watchNamespaces={Team_A}", "watchNamespaces"),
        ("gateway.terminationGracePeriodSeconds=20", "must exceed gateway.drainSeconds"),
        ("sweep.retention=soon", "retention"),
        ("sweep.enabled=true", "sweep.enabled needs sweep.image.repository"),
    ],
)
def test_a_wrong_value_is_refused_by_name(helm: str, setting: str, message: str) -> None:
    done = run(helm, "template", "rel", str(CHART), "--set", setting)
    assert done.returncode != 0
    assert message in done.stderr


def test_watching_named_namespaces_renders_roles_only(render: Render) -> None:
    documents = render("--set", "watchNamespaces={team-a,team-b}", "--set", "crds.enabled=false")
    assert not of_kind(documents, "ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition")
    roles = {
        (d["metadata"]["namespace"], d["metadata"]["name"]) for d in of_kind(documents, "Role")
    }
    assert roles == {
        (namespace, f"rel-lgos-{component}")
        for namespace in ("team-a", "team-b")
        for component in ("operator", "gateway")
    }
    for pod in pods(documents):
        watched = plain(pod["containers"][0]["env"])
        assert watched["LGOS_WATCH_NAMESPACES"] == "team-a,team-b"


def pods(documents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [d["spec"]["template"]["spec"] for d in of_kind(documents, "Deployment")]


def cron_pod(documents: list[dict[str, Any]]) -> dict[str, Any]:
    [job] = of_kind(documents, "CronJob")
    pod: dict[str, Any] = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    return pod


def test_the_sweep_runs_only_when_it_is_asked_for_and_never_twice_at_once(render: Render) -> None:
    assert not of_kind(render(), "CronJob")
    documents = render(*SWEEP, "--set", "sweep.image.tag=v3", "--set", "sweep.retention=12h")
    [job] = of_kind(documents, "CronJob")
    assert job["spec"]["concurrencyPolicy"] == "Forbid"
    pod = cron_pod(documents)
    [container] = pod["containers"]
    assert container["image"] == "team/models:v3"
    assert container["command"] == ["lgos", "sweep", "--retention", "12h"]
    assert pod["automountServiceAccountToken"] is False


def test_the_sweep_reads_the_database_from_the_secret_of_the_models(render: Render) -> None:
    from lgos_contract.environment import ENV_POSTGRES_DSN

    [container] = cron_pod(render(*SWEEP))["containers"]
    [dsn] = [e for e in container["env"] if e["name"] == ENV_POSTGRES_DSN]
    assert dsn["valueFrom"]["secretKeyRef"] == {"name": "lgos-platform", "key": ENV_POSTGRES_DSN}


def test_the_sweeps_command_line_is_understood(render: Render) -> None:
    from langgraph_openai_serve.cli.main import argument_parser

    [container] = cron_pod(render(*SWEEP))["containers"]
    options = argument_parser().parse_args(container["command"][1:])
    assert options.retention.days == 7
    assert not options.dry_run


def test_pods_meet_pod_security_restricted(render: Render) -> None:
    documents = render(*SWEEP)
    for pod in [*pods(documents), cron_pod(documents)]:
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for volume in pod["volumes"]:
            assert set(volume) <= {"name", "emptyDir", "secret"}
        for container in pod["containers"]:
            security = container["securityContext"]
            assert security["allowPrivilegeEscalation"] is False
            assert security["capabilities"] == {"drop": ["ALL"]}
            assert security["readOnlyRootFilesystem"] is True
    for pod in pods(documents):
        for container in pod["containers"]:
            probes = {"startupProbe", "readinessProbe", "livenessProbe"}
            assert probes <= set(container)


def test_selectors_hold_name_instance_and_component_only(render: Render) -> None:
    for deployment in of_kind(render(), "Deployment"):
        labels = deployment["spec"]["selector"]["matchLabels"]
        component = labels["app.kubernetes.io/component"]
        assert labels == {
            "app.kubernetes.io/name": "lgos",
            "app.kubernetes.io/instance": "rel",
            "app.kubernetes.io/component": component,
        }
        assert labels.items() <= deployment["spec"]["template"]["metadata"]["labels"].items()


def test_the_gateway_service_selects_the_gateway(render: Render) -> None:
    documents = render("--set", "gateway.service.port=8080")
    [service] = of_kind(documents, "Service")
    [gateway] = [
        d for d in of_kind(documents, "Deployment") if d["metadata"]["name"].endswith("gateway")
    ]
    assert service["spec"]["selector"] == gateway["spec"]["selector"]["matchLabels"]
    assert service["spec"]["ports"] == [
        {"name": "http", "port": 8080, "targetPort": "http", "protocol": "TCP"}
    ]
    ports = {
        p["name"]: p["containerPort"]
        for p in gateway["spec"]["template"]["spec"]["containers"][0]["ports"]
    }
    assert ports == {"http": 8080, "metrics": 9090}


def rules_of(documents: list[dict[str, Any]], component: str) -> list[dict[str, Any]]:
    [role] = [
        d for d in of_kind(documents, "ClusterRole") if d["metadata"]["name"].endswith(component)
    ]
    rules: list[dict[str, Any]] = role["rules"]
    return rules


def test_the_operator_has_the_rights_that_its_page_lists(render: Render) -> None:
    listed = yaml.safe_load((ROOT / "docs/reference/operator-role.yaml").read_text())
    assert rules_of(render(), "lgos-operator") == listed["rules"]


def test_the_gateway_may_read_the_registry_and_nothing_else(render: Render) -> None:
    assert rules_of(render(), "lgos-gateway") == [
        {
            "apiGroups": [""],
            "resources": ["configmaps"],
            "resourceNames": ["lgos-model-registry"],
            "verbs": ["list", "watch"],
        }
    ]


def plain(environ: list[dict[str, Any]]) -> dict[str, str]:
    """The variables whose values stand in the chart."""
    return {each["name"]: each["value"] for each in environ if "value" in each}


def gateway_pod(documents: list[Any]) -> Any:
    [pod] = [p for p in pods(documents) if p["containers"][0]["name"] == "gateway"]
    return pod


def test_the_gateway_asks_for_keys_of_a_secret_that_may_come_later(render: Render) -> None:
    from lgos_gateway.settings import ENV_API_KEYS_DIR

    pod = gateway_pod(render())
    [keys] = [volume["secret"] for volume in pod["volumes"] if volume["name"] == "api-keys"]
    assert keys == {"secretName": "lgos-api-keys", "optional": True}
    environ = {each["name"]: each for each in pod["containers"][0]["env"]}
    mounts = {mount["name"]: mount for mount in pod["containers"][0]["volumeMounts"]}
    assert mounts["api-keys"] == {
        "name": "api-keys", "mountPath": environ[ENV_API_KEYS_DIR]["value"], "readOnly": True
    }  # fmt: skip
    assert environ["LGOS_SCOPE_KEY"]["valueFrom"]["secretKeyRef"]["optional"] is True
    off = gateway_pod(render("--set", "gateway.apiKeys.enabled=false"))
    assert ENV_API_KEYS_DIR not in {each["name"] for each in off["containers"][0]["env"]}
    assert [volume["name"] for volume in off["volumes"]] == ["tmp"]


def test_an_autoscaled_gateway_names_no_replicas_itself(render: Render) -> None:
    documents = render("--set", "gateway.autoscaling.enabled=true")
    [scaler] = of_kind(documents, "HorizontalPodAutoscaler")
    [gateway] = [
        d for d in of_kind(documents, "Deployment") if d["metadata"]["name"].endswith("gateway")
    ]
    assert scaler["spec"]["scaleTargetRef"]["name"] == gateway["metadata"]["name"]
    assert "replicas" not in gateway["spec"]
    assert of_kind(render(), "HorizontalPodAutoscaler") == []


def test_a_stopping_gateway_is_done_before_it_is_killed(render: Render) -> None:
    from lgos_gateway.program import CUT_SECONDS
    from lgos_gateway.settings import load_settings

    # The shortest grace that the chart takes for this drain.
    documents = render(
        "--set", "gateway.drainSeconds=10", "--set", "gateway.terminationGracePeriodSeconds=15"
    )  # fmt: skip
    [pod] = [p for p in pods(documents) if p["containers"][0]["name"] == "gateway"]
    [container] = pod["containers"]
    settings = load_settings(plain(container["env"]))
    pause = container["lifecycle"]["preStop"]["sleep"]["seconds"]
    needed = pause + settings.shutdown_delay_seconds + settings.drain_seconds + 2 * CUT_SECONDS
    assert needed < pod["terminationGracePeriodSeconds"]


def test_a_release_name_of_fifty_characters_gives_lawful_names(render: Render) -> None:
    name = "r" * 50
    for document in render(*SWEEP, name=name):
        assert len(document["metadata"]["name"]) <= 63
        for value in document["metadata"].get("labels", {}).values():
            assert len(value) <= 63


def test_the_operator_gets_model_defaults_as_it_reads_them(render: Render) -> None:
    from lgos_operator.settings import load_settings

    documents = render(
        "--set", "modelDefaults.imagePullSecrets[0].name=corp",
        "--set", "modelDefaults.resources.requests.cpu=200m",
    )  # fmt: skip
    [pod] = [p for p in pods(documents) if p["containers"][0]["name"] == "operator"]
    settings = load_settings(plain(pod["containers"][0]["env"]))
    defaults = settings.model_defaults.model_dump(mode="json", by_alias=True, exclude_none=True)
    assert defaults == {
        "envFrom": [{"secretRef": {"name": "lgos-platform", "optional": True}}],
        "imagePullSecrets": [{"name": "corp"}],
        "resources": {"requests": {"cpu": "200m"}},
    }


def test_the_crd_is_kept_on_uninstall_unless_told_otherwise(render: Render) -> None:
    [kept] = of_kind(render(), "CustomResourceDefinition")
    assert kept["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}
    [gone] = of_kind(render("--set", "crds.keep=false"), "CustomResourceDefinition")
    assert "annotations" not in gone["metadata"]


def test_the_charts_crd_is_the_source_of_the_repository(render: Render) -> None:
    assert chart_crd.COPY.read_text() == chart_crd.chart_copy()
    [crd] = of_kind(render(), "CustomResourceDefinition")
    assert crd["spec"] == yaml.safe_load(chart_crd.SOURCE.read_text())["spec"]


def test_the_values_page_is_current_and_every_value_is_described() -> None:
    assert values_reference.PAGE.read_text() == values_reference.page()
    described = {path for path, _ in values_reference.described()}
    for leaf in leaves(yaml.safe_load(values_reference.VALUES.read_text())):
        assert any(leaf[: len(path)] == path for path in described), leaf


def leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    else:
        yield path


CHANGED: dict[str, Any] = {
    "nameOverride": "other", "fullnameOverride": "other", "watchNamespaces": ["a"], "logLevel": "debug",
    "commonLabels": {"a": "b"}, "commonAnnotations": {"a": "b"}, "imagePullSecrets": ["corp"],
    "modelDefaults.envFrom": [], "modelDefaults.imagePullSecrets": [{"name": "x"}],
    "*.image.registry": "mirror.example.com", "*.image.repository": "x/y", "sweep.enabled": False, "*.image.tag": "9",
    "*.image.digest": "sha256:" + "0" * 64, "*.image.pullPolicy": "Always", "*.extraEnv": [{"name": "A"}],
    "*.tolerations": [{"key": "a"}], "*.topologySpreadConstraints": [{"maxSkew": 1}],
    "gateway.service.type": "NodePort", "*.priorityClassName": "high", "*.serviceAccount.name": "mine",
    "gateway.drainSeconds": 26, "sweep.schedule": "0 0 * * *", "sweep.retention": "1h",
    "*.existingSecret": "mine", "gateway.apiKeys.existingSecret": "mine",
    "gateway.scopeKey.existingSecret": "mine",
}  # fmt: skip


def changed(path: tuple[str, ...], default: Any) -> Any:
    for name in (".".join(path), ".".join(("*", *path[1:]))):
        if name in CHANGED:
            return CHANGED[name]
    if isinstance(default, bool):
        return not default
    if isinstance(default, int):
        return default + 1
    return {"a": "b"}


def all_values() -> list[tuple[str, ...]]:
    return [path for path, _ in values_reference.described()]


@pytest.mark.parametrize("path", all_values(), ids=".".join)
def test_every_value_changes_what_is_rendered(
    render: Render, path: tuple[str, ...], tmp_path: Path
) -> None:
    value: Any = changed(path, values_reference.lookup(path))
    for key in reversed(path):
        value = {key: value}
    file = tmp_path / "values.json"
    file.write_text(json.dumps(value))
    sweep = tmp_path / "sweep.json"
    sweep.write_text(
        json.dumps({"sweep": {"enabled": True, "image": {"repository": "team/models"}}})
    )
    everything = ["--values", str(sweep)]
    if path[:2] == ("gateway", "autoscaling") and path[2] != "enabled":
        everything += ["--set", "gateway.autoscaling.enabled=true"]
    assert render(*everything, "--values", str(file)) != render(*everything)
