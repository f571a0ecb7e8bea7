"""The operator works with exactly the Role that the documentation prints."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import yaml

from operator_kit.live_api import LiveApi, eventually
from operator_kit.process import OperatorProcess
from operator_kit.samples import manifest

ROLE = Path(__file__).parents[3] / "docs" / "reference" / "operator-role.yaml"
API = "rbac.authorization.k8s.io"


async def test_the_documented_role_is_enough(
    api: LiveApi,
    start_operator: Callable[..., OperatorProcess],
    kubeconfig_api: Path,
    tmp_path: Path,
) -> None:
    rules = yaml.safe_load(ROLE.read_text())["rules"]
    version = f"{API}/v1"
    await api.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "runner"}})
    await api.create(
        {"apiVersion": version, "kind": "Role", "metadata": {"name": "runner"}, "rules": rules}
    )
    subject = {"kind": "ServiceAccount", "name": "runner", "namespace": api.namespace}
    reference = {"apiGroup": API, "kind": "Role", "name": "runner"}
    await api.create(
        {
            "apiVersion": version,
            "kind": "RoleBinding",
            "metadata": {"name": "runner"},
            "subjects": [subject],
            "roleRef": reference,
        }
    )
    answer = await api.client.request(
        "POST", api.path("ServiceAccount", "runner") + "/token", body={"spec": {}}
    )
    document = yaml.safe_load(await asyncio.to_thread(Path(kubeconfig_api).read_text))
    for user in document["users"]:
        user["user"] = {"token": answer["status"]["token"]}
    kubeconfig = tmp_path / "runner.kubeconfig"
    kubeconfig.write_text(yaml.safe_dump(document))
    operator = start_operator(kubeconfig)
    await operator.start()
    await api.create(manifest("one", api.namespace))
    await api.become_ready("one")
    await api.condition_becomes("one", "Ready", "True")
    scaled = {"autoscaling": {"minReplicas": 2, "maxReplicas": 3}, "replicas": None}
    change = {"spec": {"serviceAccountName": "default", "api": scaled}}
    await api.merge("LanggraphModel", "one", change)
    for kind in ("HorizontalPodAutoscaler", "PodDisruptionBudget"):
        await eventually(lambda kind=kind: api.get(kind, "one-api"))
    await api.merge("LanggraphModel", "one", {"spec": {"suspend": True}})

    async def gone() -> bool | None:
        kinds = ("HorizontalPodAutoscaler", "PodDisruptionBudget")
        left = [await api.get(kind, "one-api") for kind in kinds]
        return [await api.get("ServiceAccount", "one"), *left] == [None] * 3 or None

    await eventually(gone)
    await api.delete("LanggraphModel", "one")

    async def unlisted() -> bool | None:
        return await api.registry() == {} or None

    await eventually(unlisted)
    codes = await operator.requests("GET", "POST", "PATCH", "DELETE")
    assert not [call for call in codes if call[2] in {"401", "403"}], codes
