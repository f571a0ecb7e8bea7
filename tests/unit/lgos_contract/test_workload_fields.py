"""What a manifest may say of its pods, and in which words a mistake is told."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from lgos_contract.manifest import FORBIDDEN_OVERRIDE, ApiComponent, LanggraphModel, PodTemplate
from operator_kit.samples import manifest

API = "containers"
FORBIDDEN: dict[str, tuple[dict[str, Any], str]] = {
    "label": ({"metadata": {"labels": {"app.kubernetes.io/name": "x"}}}, "app.kubernetes.io/name"),
    "annotation": ({"metadata": {"annotations": {"lgos.dev/config-hash": "x"}}}, "lgos.dev/config-hash"),
    "service account": ({"spec": {"serviceAccountName": "x"}}, "set spec.serviceAccountName"),
    "grace": ({"spec": {"terminationGracePeriodSeconds": 1}}, "set spec.api.terminationGracePeriodSeconds"),
    "image": ({"spec": {API: [{"name": "api", "image": "x"}]}}, "set spec.image"),
    "command": ({"spec": {API: [{"name": "api", "command": ["sh"]}]}}, "the platform starts the API"),
    "reserved variable": ({"spec": {API: [{"name": "api", "env": [{"name": "LGOS_MODEL"}]}]}}, "LGOS_ is reserved"),
    "own volume": ({"spec": {"volumes": [{"name": "registry", "emptyDir": {}}]}}, "'registry' belongs to the platform"),
    "own mount": ({"spec": {API: [{"name": "api", "volumeMounts": [{"name": "tmp", "mountPath": "/x"}]}]}}, "'tmp'"),
    "no list": ({"spec": {API: {"name": "api"}}}, "list of objects with a name"),
    "no name": ({"spec": {"volumes": [{"emptyDir": {}}]}}, "list of objects with a name"),
    "name twice": ({"spec": {API: [{"name": "a"}, {"name": "a"}]}}, "names must not repeat"),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(FORBIDDEN))
def test_what_the_platform_depends_on_cannot_be_overridden(name: str) -> None:
    overlay, words = FORBIDDEN[name]
    with pytest.raises(ValidationError) as caught:
        PodTemplate.model_validate(overlay)
    [error] = caught.value.errors()
    assert error["type"] == FORBIDDEN_OVERRIDE
    assert words in error["msg"]


def test_other_containers_may_be_anything() -> None:
    side = {"name": "side", "image": "x", "command": ["sh"], "ports": [{"containerPort": 1}]}
    PodTemplate.model_validate({"spec": {API: [side, {"name": "api", "tty": False}]}})


@pytest.mark.parametrize(
    ("api", "words"),
    [
        ({"replicas": 1, "autoscaling": {"maxReplicas": 2}}, "mutually exclusive"),
        ({"autoscaling": {"minReplicas": 3, "maxReplicas": 2}}, "must not exceed maxReplicas"),
        ({"autoscaling": {}}, "Field required"),
    ],
)
def test_scaling_that_contradicts_itself_is_refused(api: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        ApiComponent.model_validate(api)


def test_one_pod_is_wanted_where_nothing_is_said() -> None:
    assert LanggraphModel.model_validate(manifest(api={})).spec.api.least_replicas == 1
