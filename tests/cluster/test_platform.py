"""The whole path on a real node: chart installed, models applied, an OpenAI client answered through the gateway.

The tests are one story and run in this order; the platform is installed once and uninstalled by the last test.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openai
import pytest
import yaml

from tools.audit import AuditLog
from tools.clusters import Cluster
from tools.postgres import postgres_server
from tools.processes import wait_for

ROOT = Path(__file__).parents[2]
SYSTEM = "lgos-system"
TEAM = "team-a"
OPERATOR = f"system:serviceaccount:{SYSTEM}:lgos-operator"
MODELS = {"echo": "examples", "writer": "examples-next"}
"""Model to the image that it runs; two images of different digests."""
Say = Callable[[str], None]


@dataclass
class Platform:
    """The installed chart."""

    cluster: Cluster
    helm: Path
    images: dict[str, str]
    url: str
    started: float

    def install(self) -> None:
        sets = {}
        for component in ("operator", "gateway"):
            repository, _, tag = self.images[component].rpartition(":")
            sets |= {
                f"{component}.image.repository": repository,
                f"{component}.image.tag": tag,
                f"{component}.image.pullPolicy": "IfNotPresent",
            }
        sets["gateway.apiKeys.enabled"] = "false"
        self.run_helm(
            "install", "lgos", str(ROOT / "charts" / "lgos"), "--create-namespace", "--wait", "--timeout=180s",
            *[part for key, value in sets.items() for part in ("--set", f"{key}={value}")],
        )  # fmt: skip

    def run_helm(self, *arguments: str) -> str:
        command = [
            self.helm,
            "--kubeconfig",
            self.cluster.kubeconfig,
            "--namespace",
            SYSTEM,
            *arguments,
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def client(self) -> openai.OpenAI:
        return openai.OpenAI(base_url=f"{self.url}/v1", api_key="any", max_retries=0)

    def listed(self) -> set[str]:
        with self.client() as client:
            return {model.id for model in client.models.list()}

    def manifest(self, name: str, **spec: Any) -> dict[str, Any]:
        document: dict[str, Any] = yaml.safe_load(
            (ROOT / "examples" / "models" / f"{name}.yaml").read_text()
        )
        image = self.images[MODELS.get(name, "examples")]
        document["spec"] |= {"image": image, "imagePullPolicy": "IfNotPresent", **spec}
        return document

    def apply(self, *documents: dict[str, Any]) -> None:
        self.cluster.kubectl("apply", "-n", TEAM, "-f", "-", stdin=yaml.safe_dump_all(documents))

    def serve_models(self) -> None:
        """Apply the two models and wait until they are ready; changes nothing when they are."""
        self.apply(*(self.manifest(name) for name in MODELS))
        for name in MODELS:
            self.wait_ready(name)

    def model(self, name: str) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(
            self.cluster.kubectl("get", "-n", TEAM, f"langgraphmodel/{name}", "-o", "json")
        )
        return document

    def condition(self, name: str, kind: str) -> dict[str, Any]:
        conditions = self.model(name).get("status", {}).get("conditions", [])
        return next((each for each in conditions if each["type"] == kind), {})

    def objects(self, *kinds: str) -> list[dict[str, Any]]:
        answer = self.cluster.kubectl("get", "-n", TEAM, ",".join(kinds), "-o", "json")
        return [*json.loads(answer)["items"]]

    def wait_ready(self, name: str, seconds: int = 120) -> None:
        def ready() -> bool:
            model = self.model(name)
            condition = self.condition(name, "Ready")
            current = condition.get("observedGeneration") == model["metadata"]["generation"]
            return current and condition.get("status") == "True"

        wait_for(ready, seconds, f"model {name} is Ready")


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Say:
    """Print past pytest's capture: the figures are part of the result."""

    def said(text: str) -> None:
        with capsys.disabled():
            print(f"\n    {text}", flush=True)

    return said


@pytest.fixture
def database(cluster: Cluster) -> Iterator[str]:
    """Connection string of a PostgreSQL database that pods reach."""
    if cluster.settings is None:
        given = os.environ.get("LGOS_TEST_POSTGRES_DSN")
        if given is None:
            pytest.skip("an existing cluster needs LGOS_TEST_POSTGRES_DSN, which its pods reach")
        yield given
        return
    with postgres_server(cluster.settings.host) as server:
        yield server.create_database("lgos")


@pytest.fixture(scope="module")
def platform(cluster: Cluster, helm: Path, images: dict[str, str]) -> Iterator[Platform]:
    installed = Platform(cluster, helm, images, "", time.monotonic())
    installed.install()
    cluster.kubectl("create", "namespace", TEAM)
    try:
        with cluster.service_url(SYSTEM, "lgos-gateway", 80) as installed.url:
            yield installed
    finally:
        cluster.kubectl("delete", "namespace", TEAM, "--wait=false", check=False)


def test_two_models_become_ready_and_listed(platform: Platform, say: Say) -> None:
    say(f"helm install --wait: {time.monotonic() - platform.started:.1f} s")
    assert platform.listed() == set()
    applied = time.monotonic()
    platform.serve_models()
    ready = time.monotonic()
    wait_for(lambda: platform.listed() == set(MODELS), 10, "both models are listed")
    say(f"apply → Ready: {ready - applied:.1f} s; Ready → listed: {time.monotonic() - ready:.2f} s")
    images = {
        pod["metadata"]["labels"]["lgos.dev/model"]: pod["spec"]["containers"][0]["image"]
        for pod in platform.objects("pods")
    }
    assert images == {name: platform.images[image] for name, image in MODELS.items()}


def test_the_openai_sdk_streams_from_each_model_through_the_gateway(platform: Platform) -> None:
    with platform.client() as client:
        chat = client.chat.completions.create(
            model="echo", messages=[{"role": "user", "content": "hi"}], stream=True
        )
        assert "".join(chunk.choices[0].delta.content or "" for chunk in chat) == "Echo: hi"
        with client.responses.stream(model="writer", input="rivers") as stream:
            deltas = [event.delta for event in stream if event.type == "response.output_text.delta"]
            final = stream.get_final_response()
        assert len(deltas) > 3
        assert final.status == "completed"
        assert final.output_text == "".join(deltas)
        assert client.responses.create(model="echo", input="hi").output_text == "Echo: hi"
        detail = client.models.retrieve("echo")
        assert detail.model_extra is not None
        assert detail.model_extra["lgos"]["client_settings"]["defaults"]["prefix"] == "Echo: "


def test_an_unknown_model_is_the_documented_error(platform: Platform) -> None:
    with platform.client() as client, pytest.raises(openai.NotFoundError) as caught:
        client.responses.create(model="missing", input="hi")
    assert caught.value.body == {
        "message": "Graph 'missing' not found in registry.",
        "type": "invalid_request_error",
        "param": "model",
        "code": None,
    }


def test_conditions_and_columns_say_what_a_person_wants_to_know(platform: Platform) -> None:
    status = platform.model("echo")["status"]
    conditions = {each["type"]: each["status"] for each in status["conditions"]}
    assert conditions == {
        "Accepted": "True",
        "ApiAvailable": "True",
        "Registered": "True",
        "Ready": "True",
    }
    generation = platform.model("echo")["metadata"]["generation"]
    assert {each["observedGeneration"] for each in status["conditions"]} == {generation}
    table = platform.cluster.kubectl("get", "-n", TEAM, "lgm").splitlines()
    assert table[0].split() == ["NAME", "MODEL", "READY", "REASON", "API", "AGE"]
    assert table[1].split()[:3] == ["echo", "echo", "True"]


@pytest.mark.parametrize("seconds", [60, pytest.param(600, marks=pytest.mark.endurance)])
def test_the_steady_operator_writes_nothing(
    platform: Platform, audit_log: AuditLog, say: Say, seconds: int
) -> None:
    platform.serve_models()
    mark = audit_log.mark()
    time.sleep(seconds)  # the length of the observation is the test
    entries = [each for each in audit_log.entries(mark) if each.user == OPERATOR]
    say(
        f"{seconds} s steady: {sum(each.is_write for each in entries)} writes, {len(entries)} requests"
    )
    assert [each for each in entries if each.is_write] == []
    # A watch ends by itself every five minutes, and the metadata list is the backstop: nothing else is read.
    assert {each.verb for each in entries} <= {"list", "watch"}


def test_a_restarted_operator_writes_nothing(
    platform: Platform, audit_log: AuditLog, say: Say
) -> None:
    selector = "app.kubernetes.io/component=operator"
    mark = audit_log.mark()
    platform.cluster.kubectl("delete", "pod", "-n", SYSTEM, "-l", selector, "--wait=true")
    platform.cluster.kubectl(
        "wait",
        "-n",
        SYSTEM,
        "--for=condition=Available",
        "deployment/lgos-operator",
        "--timeout=60s",
    )
    # A change that only a working operator answers: everything before it has been looked at by then.
    platform.apply(platform.manifest("tools"))
    platform.wait_ready("tools")
    writes = audit_log.writes(OPERATOR, mark)
    own = [each for each in writes if "tools" in each.name or each.name == "lgos-model-registry"]
    say(f"restart: {len(writes) - len(own)} writes for what was there, {len(own)} for a new model")
    assert [each for each in writes if each not in own] == []
    assert len(own) <= 10


def test_a_settings_change_rolls_only_its_model(platform: Platform) -> None:
    def others() -> dict[str, Any]:
        return {
            each["metadata"]["name"]: (each["metadata"]["generation"], each["metadata"]["uid"])
            for each in platform.objects("deployments", "pods")
            if each["metadata"]["labels"]["lgos.dev/model"] != "echo"
        }

    before = others()
    platform.apply(platform.manifest("echo", settings={"prefix": "Now: "}))
    platform.wait_ready("echo")
    with platform.client() as client:
        assert client.responses.create(model="echo", input="hi").output_text == "Now: hi"
    assert others() == before


def finished_runs(platform: Platform, pod: str, status: str) -> float:
    """Return how many runs of a pod ended so, as the pod counts."""
    question = "import urllib.request as r; print(r.urlopen('http://127.0.0.1:9090/metrics').read().decode())"
    answer = platform.cluster.kubectl("exec", "-n", TEAM, pod, "--", "python", "-c", question)
    lines = [line for line in answer.splitlines() if line.startswith("lgos_runs_finished_total")]
    return sum(float(line.split()[-1]) for line in lines if f'status="{status}"' in line)


def ready_pods(platform: Platform, model: str) -> set[str]:
    """Return the names of a model's pods that are ready."""

    def is_ready(pod: dict[str, Any]) -> bool:
        found = pod["status"].get("conditions") or ()
        return any(each["type"] == "Ready" and each["status"] == "True" for each in found)

    return {
        pod["metadata"]["name"]
        for pod in platform.objects("pods")
        if pod["metadata"]["labels"].get("lgos.dev/model") == model and is_ready(pod)
    }


def test_a_run_that_paused_in_one_pod_goes_on_in_another(
    platform: Platform, database: str, say: Say
) -> None:
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "lgos-platform"},
        "stringData": {"LGOS_POSTGRES_DSN": database},
    }
    platform.apply(secret, platform.manifest("refunds", api={"replicas": 2}))
    platform.wait_ready("refunds")
    pods = ready_pods(platform, "refunds")
    assert len(pods) == 2
    with platform.client() as client:
        paused = client.responses.create(model="refunds", input="Refund 120, please.")
        [call] = paused.output
        assert call.type == "function_call"
        [holder] = [pod for pod in pods if finished_runs(platform, pod, "interrupted")]
        # Not by force: the pod must be gone before the answer, not only its object.
        platform.cluster.kubectl("delete", "pod", "-n", TEAM, holder, "--grace-period=1")
        killed = time.monotonic()
        answer: Any = {
            "type": "function_call_output",
            "call_id": call.call_id,
            "output": "approve",
        }
        finished = client.responses.create(
            model="refunds", previous_response_id=paused.id, input=[answer]
        )
    say(f"pod killed → answered by another: {time.monotonic() - killed:.2f} s")
    assert finished.output_text == "Refunded 120."

    def is_counted() -> bool:
        """Whether the pod that was left, or the one that took the killed one's place, tells of the answer."""
        others = ready_pods(platform, "refunds") - {holder}
        return sum(finished_runs(platform, pod, "completed") for pod in others) == 1

    wait_for(is_counted, 20, "another pod counts the run")
    platform.cluster.kubectl("delete", "-n", TEAM, "lgm/refunds", "secret/lgos-platform")


def test_mistakes_have_a_condition_that_names_the_fix_and_leave_others_served(
    platform: Platform,
) -> None:
    broken = {
        "no-image": platform.manifest("echo", image="localhost/lgos/not-there:1"),
        "no-graph": platform.manifest("echo", graph="lgos_examples.echo:confg"),
    }
    for name, document in broken.items():
        document["metadata"]["name"] = name
    platform.apply(*broken.values())

    def reason(name: str) -> str:
        return str(platform.condition(name, "ApiAvailable").get("reason"))

    wait_for(lambda: reason("no-image") == "ImagePullBackOff", 60, "the missing image is named")
    message = platform.condition("no-image", "Ready")["message"]
    assert "localhost/lgos/not-there:1" in message
    assert "spec.image" in message
    wait_for(lambda: reason("no-graph") == "CrashLoopBackOff", 60, "the missing attribute is named")
    message = platform.condition("no-graph", "Ready")["message"]
    assert "confg" in message
    assert "config" in message.replace("confg", "")
    assert platform.listed() == {"echo", "writer", "tools"}
    with platform.client() as client:
        assert client.responses.create(model="echo", input="hi").status == "completed"
    platform.cluster.kubectl("delete", "-n", TEAM, "lgm", *broken)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"graph": "no colon"}, "spec.graph"),
        ({"replicas": 2}, "replicas"),
        ({"features": ["telepathy"]}, "telepathy"),
        ({"env": [{"name": "LGOS_PORT", "value": "1"}]}, "LGOS_ is reserved"),
        ({"api": {"drainSeconds": 60}}, "terminationGracePeriodSeconds must exceed drainSeconds"),
    ],
)
def test_an_invalid_manifest_is_refused_by_the_api_server(
    platform: Platform, change: dict[str, Any], sentence: str
) -> None:
    document = platform.manifest("echo", **change)
    document["metadata"]["name"] = "invalid"
    answer = platform.cluster.kubectl(
        "apply", "-n", TEAM, "-f", "-", stdin=yaml.safe_dump(document), check=False
    )
    assert sentence in answer
    assert "invalid" not in {
        each["metadata"]["name"] for each in platform.objects("langgraphmodels")
    }


def test_a_deleted_model_is_gone_within_five_seconds_and_leaves_nothing(
    platform: Platform, say: Say
) -> None:
    deleted = time.monotonic()
    platform.cluster.kubectl("delete", "-n", TEAM, "lgm/writer", "lgm/tools", "--wait=false")
    wait_for(lambda: platform.listed() == {"echo"}, 5, "the deleted models are not listed")
    say(f"delete → not listed: {time.monotonic() - deleted:.2f} s")

    def left() -> set[str]:
        kinds = ("deployments", "replicasets", "services", "serviceaccounts", "pods")
        models = {
            each["metadata"].get("labels", {}).get("lgos.dev/model")
            for each in platform.objects(*kinds)
        }
        return models - {None}

    wait_for(lambda: left() == {"echo"}, 90, "no object of the deleted models is left")
    [registry] = [
        each
        for each in platform.objects("configmaps")
        if each["metadata"]["name"] == "lgos-model-registry"
    ]
    assert set(registry["data"]) == {"echo.json"}


def test_uninstall_leaves_no_pod_and_keeps_the_models(platform: Platform) -> None:
    platform.run_helm("uninstall", "lgos", "--wait", "--timeout=120s")

    def pods() -> list[Any]:
        answer = platform.cluster.kubectl("get", "pods", "-n", SYSTEM, "-o", "json")
        return list(json.loads(answer)["items"])

    wait_for(lambda: pods() == [], 60, "no pod of the release is left")
    assert [each["metadata"]["name"] for each in platform.objects("langgraphmodels")] == ["echo"]
    platform.cluster.kubectl("delete", "-n", TEAM, "lgm", "--all", "--timeout=30s")
