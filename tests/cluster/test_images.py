"""The images run under the strictest rules of a cluster: any user, read-only root, no capabilities."""

from __future__ import annotations

import json
import time
from importlib.metadata import version
from typing import Any

import pytest

from tools.clusters import Cluster

SOME_USER = 1000690000
"""A user that no image knows, as some distributions give each namespace."""

LOOK_AROUND = """
import importlib.util, json, os, subprocess, sys
status = dict(line.split(":\\t", 1) for line in open("/proc/self/status") if ":\\t" in line)
try:
    open("/opt/lgos/written", "w")
    writable = True
except OSError:
    writable = False
for module in sys.argv[1:]:
    importlib.import_module(module)
compiled = all(os.path.exists(sys.modules[module].__cached__) for module in sys.argv[1:])
lgos = subprocess.run(["lgos", "--version"], capture_output=True, text=True)
print(json.dumps({
    "user": os.getuid(), "group": os.getgid(), "capabilities": int(status["CapEff"], 16), "home": os.environ["HOME"],
    "langgraph": importlib.util.find_spec("langgraph") is not None, "writable": writable, "compiled": compiled, "version": (lgos.stdout + lgos.stderr).strip(), "code": lgos.returncode,
}))
"""

MODULES = {
    "gateway": ["lgos_gateway.program"],
    "operator": ["lgos_operator.program"],
    "examples": ["langgraph_openai_serve.deploy.api", "lgos_examples.echo"],
    "examples-next": ["langgraph_openai_serve.deploy.api", "lgos_examples.echo"],
}
"""What the image's program imports, by image."""


def restricted_pod(
    name: str, image: str, command: list[str] | None, user: int | None
) -> dict[str, Any]:
    """Return a pod that the restricted Pod Security Standard admits; no command: the image's own."""
    container: dict[str, Any] = {
        "name": "main",
        "image": image,
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
    }
    if command is not None:
        container["command"] = command
    identity = {} if user is None else {"runAsUser": user, "runAsGroup": 0}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 1,
            "automountServiceAccountToken": False,
            "securityContext": {
                "runAsNonRoot": True,
                "seccompProfile": {"type": "RuntimeDefault"},
                **identity,
            },
            "containers": [container],
        },
    }


@pytest.fixture
def restricted(cluster: Cluster, namespace: str) -> str:
    """A namespace that admits only restricted pods."""
    cluster.kubectl(
        "label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted"
    )
    return namespace


def ended(cluster: Cluster, namespace: str, pod: dict[str, Any]) -> tuple[str, int, str]:
    """Run a pod to its end; return its output, exit code and termination message."""
    name = pod["metadata"]["name"]
    cluster.kubectl("create", "-n", namespace, "-f", "-", stdin=json.dumps(pod))
    path = "jsonpath={.status.containerStatuses[0].state.terminated.reason}"
    cluster.kubectl("wait", "-n", namespace, f"pod/{name}", f"--for={path}", "--timeout=90s")
    status = json.loads(cluster.kubectl("get", "-n", namespace, f"pod/{name}", "-o", "json"))[
        "status"
    ]
    state = status["containerStatuses"][0]["state"]["terminated"]
    return (
        cluster.kubectl("logs", "-n", namespace, name),
        state["exitCode"],
        state.get("message", ""),
    )


@pytest.mark.parametrize("image", sorted(MODULES))
@pytest.mark.parametrize(
    ("user", "group"), [(SOME_USER, 0), (None, 65532)], ids=["any-user", "own-user"]
)
def test_image_runs_restricted_as_any_user(
    cluster: Cluster,
    restricted: str,
    images: dict[str, str],
    image: str,
    user: int | None,
    group: int,
) -> None:
    command = ["python", "-c", LOOK_AROUND, *MODULES[image]]
    started = time.monotonic()
    output, code, _ = ended(
        cluster, restricted, restricted_pod("look", images[image], command, user)
    )
    print(
        f"{image}: imported and ended {time.monotonic() - started:.1f} s after the pod was created"
    )
    assert code == 0, output
    assert json.loads(output.splitlines()[-1]) == {
        "user": user or 65532,
        "group": group,
        "capabilities": 0,
        "home": "/tmp",  # noqa: S108 -- what the image sets
        "langgraph": image.startswith("examples"),
        "writable": False,
        "compiled": True,
        "version": f"lgos {version('langgraph-openai-serve')}",
        "code": 0,
    }


def test_graph_image_without_a_model_ends_with_a_sentence(
    cluster: Cluster, restricted: str, images: dict[str, str]
) -> None:
    output, code, message = ended(
        cluster, restricted, restricted_pod("serve", images["examples"], None, SOME_USER)
    )
    assert code != 0
    assert "LGOS_MODEL" in output + message
    assert "Traceback" not in output
