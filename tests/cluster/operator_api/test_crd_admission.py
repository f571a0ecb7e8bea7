"""What the API server accepts and refuses of a LanggraphModel, and with which words."""

from __future__ import annotations

from typing import Any

import pytest

from lgos_kube.errors import Invalid
from operator_kit.live_api import LiveApi
from operator_kit.samples import manifest

ACCEPTED: dict[str, dict[str, Any]] = {
    "smallest": {"api": {}},
    "name with slashes": {"modelName": "team/research:2"},
    "no features": {"features": []},
    "features": {"features": ["client_events", "interrupts"]},
    "interrupt retention": {"interruptRetentionSeconds": 60},
    "any settings": {"settings": {"nested": {"list": [1, None, "x"]}}},
    "value from": {
        "env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]
    },
    "longer drain": {"api": {"drainSeconds": 300, "terminationGracePeriodSeconds": 301}},
    "no replicas": {"api": {"replicas": 0}},
    "autoscaling": {"api": {"autoscaling": {"minReplicas": 2, "maxReplicas": 6}}},
    "overlay": {
        "podTemplate": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {"nodeSelector": {"disk": "ssd"}},
        }
    },
    "hidden and suspended": {"exposure": {"register": False}, "suspend": True},
}
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no image": ({"image": None}, "spec.image"),
    "blank image": ({"image": "a b"}, "spec.image"),
    "no graph": ({"graph": None}, "spec.graph"),
    "graph without attribute": ({"graph": "research.graphs"}, "spec.graph"),
    "unknown feature": ({"features": ["background"]}, "client_events"),
    "feature twice": ({"features": ["client_events", "client_events"]}, "Duplicate value"),
    "reserved variable": ({"env": [{"name": "LGOS_X", "value": "1"}]}, "the prefix LGOS_ is reserved"),
    "variable twice": ({"env": [{"name": "A"}, {"name": "A"}]}, "Duplicate value"),
    "grace not above drain": ({"api": {"drainSeconds": 40}}, "terminationGracePeriodSeconds must exceed drainSeconds"),
    "too many replicas": ({"api": {"replicas": 1001}}, "1000"),
    "replicas and autoscaling": ({"api": {"replicas": 1, "autoscaling": {"maxReplicas": 2}}}, "mutually exclusive"),
    "least above most": ({"api": {"autoscaling": {"minReplicas": 3, "maxReplicas": 2}}}, "minReplicas must not exceed maxReplicas"),
    "autoscaling to zero": ({"api": {"autoscaling": {"minReplicas": 0, "maxReplicas": 2}}}, "minReplicas"),
    "autoscaling without end": ({"api": {"autoscaling": {}}}, "maxReplicas"),
    "long label": ({"podTemplate": {"metadata": {"labels": {"a": "b" * 64}}}}, "63"),
    "pull policy": ({"imagePullPolicy": "Sometimes"}, "IfNotPresent"),
    "long description": ({"description": "d" * 1025}, "1024"),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(ACCEPTED))
async def test_a_valid_manifest_is_accepted(api: LiveApi, name: str) -> None:
    created = await api.create(
        manifest("valid", api.namespace, **ACCEPTED[name]), fieldValidation="Strict"
    )
    assert created["spec"]["api"]["drainSeconds"] >= 0, "defaults are filled in"


@pytest.mark.parametrize("name", sorted(REFUSED))
async def test_an_invalid_manifest_is_refused_with_words_that_help(api: LiveApi, name: str) -> None:
    spec, words = REFUSED[name]
    with pytest.raises(Invalid) as caught:
        await api.create(manifest("invalid", api.namespace, **spec))
    assert words in caught.value.message


@pytest.mark.parametrize("name", ["a" * 53, "1a", "a.b"])
async def test_a_name_that_no_service_can_have_is_refused(api: LiveApi, name: str) -> None:
    with pytest.raises(Invalid, match="at most 52 characters"):
        await api.create(manifest(name, api.namespace))


async def test_a_name_of_52_characters_is_accepted(api: LiveApi) -> None:
    await api.create(manifest("a" * 52, api.namespace))


async def test_the_model_name_cannot_be_set_changed_or_removed(api: LiveApi) -> None:
    await api.create(manifest("unnamed", api.namespace))
    await api.create(manifest("named", api.namespace, modelName="first"))
    for name, value in (("unnamed", "x"), ("named", "second"), ("named", None)):
        with pytest.raises(Invalid, match="modelName is immutable"):
            await api.merge("LanggraphModel", name, {"spec": {"modelName": value}})
    await api.merge("LanggraphModel", "named", {"spec": {"description": "else"}})


async def test_scaling_a_model_sets_its_replicas(api: LiveApi) -> None:
    await api.create(manifest("scaled", api.namespace))
    await api.merge("LanggraphModel", "scaled", {"spec": {"replicas": 3}}, "scale")
    assert (await api.model("scaled"))["spec"]["api"]["replicas"] == 3


async def test_scaling_an_autoscaled_model_is_refused(api: LiveApi) -> None:
    await api.create(manifest("auto", api.namespace, api={"autoscaling": {"maxReplicas": 2}}))
    with pytest.raises(Invalid, match="replicas and autoscaling are mutually exclusive"):
        await api.merge("LanggraphModel", "auto", {"spec": {"replicas": 3}}, "scale")
