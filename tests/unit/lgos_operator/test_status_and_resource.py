from __future__ import annotations

from datetime import UTC, datetime

import pytest

from lgos_operator.metrics import Metrics
from lgos_operator.models import ModelCache
from lgos_operator.names import image_version
from lgos_operator.resource import InvalidSpecError, read_model
from lgos_operator.settings import SettingsError, load_settings
from lgos_operator.status import ConditionType, conditions, fails, holds, status_patch
from operator_kit.samples import stored

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
LATER = datetime(2026, 3, 4, 6, 0, 0, tzinfo=UTC)


def test_a_transition_time_moves_only_with_the_status() -> None:
    first = conditions(
        {ConditionType.READY: holds("Ready", "a")}, previous=[], generation=1, now=NOW
    )
    assert first[0]["lastTransitionTime"] == "2026-03-04T05:06:07Z"
    same = conditions(
        {ConditionType.READY: holds("Ready", "b")}, previous=first, generation=2, now=LATER
    )
    assert same[0]["lastTransitionTime"] == "2026-03-04T05:06:07Z"
    assert (same[0]["message"], same[0]["observedGeneration"]) == ("b", 2)
    moved = conditions(
        {ConditionType.READY: fails("Bad", "c")}, previous=same, generation=2, now=LATER
    )
    assert moved[0]["lastTransitionTime"] == "2026-03-04T06:00:00Z"


def test_a_message_fits_into_the_crd() -> None:
    [found] = conditions(
        {ConditionType.READY: fails("Bad", "x" * 2000)}, previous=[], generation=1, now=NOW
    )
    assert len(found["message"]) == 1024


def test_a_patch_holds_what_differs_and_removes_what_is_gone() -> None:
    assert status_patch({"a": 1, "b": 2, "gone": 3}, {"a": 1, "b": 4}) == {"b": 4, "gone": None}
    assert status_patch({"a": 1}, {"a": 1}) == {}


def test_a_refused_manifest_names_the_field_and_the_next_step() -> None:
    with pytest.raises(
        InvalidSpecError, match=r"spec\.api: terminationGracePeriodSeconds must exceed"
    ) as caught:
        read_model(stored(spec={"api": {"drainSeconds": 50}}))
    assert "apply it again" in str(caught.value)


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("host:5000/team/graph:1.2+x", "1.2-x"),
        ("host:5000/team/graph", ""),
        ("graph@sha256:0123456789abcdef", "0123456789ab"),
        ("graph:" + "v" * 100, "v" * 63),
        ("graph:_1_", "1"),
    ],
)
def test_the_version_label_is_a_valid_label(image: str, version: str) -> None:
    assert image_version(image) == version


@pytest.mark.parametrize(
    ("environ", "words"),
    [
        ({"LGOS_MODEL_DEFAULTS": "{"}, "LGOS_MODEL_DEFAULTS"),
        ({"LGOS_MODEL_DEFAULTS": '{"envfrom": []}'}, "envfrom"),
        ({"LGOS_LOG_LEVEL": "loud"}, "debug, info, warning, error"),
        ({"LGOS_HEALTH_PORT": "http"}, "LGOS_HEALTH_PORT"),
        ({"LGOS_METRICS_PORT": "70000"}, "65535"),
    ],
)
def test_a_bad_setting_is_named(environ: dict[str, str], words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        load_settings(environ)


def test_settings_come_from_the_environment() -> None:
    found = load_settings(
        {
            "LGOS_WATCH_NAMESPACES": "b, a,,b",
            "LGOS_MODEL_DEFAULTS": '{"envFrom": [{"secretRef": {"name": "s"}}]}',
            "LGOS_LOG_LEVEL": "DEBUG",
        }
    )
    assert found.watch_namespaces == ("a", "b")
    assert found.log_level == "debug"
    assert len(found.model_defaults.env_from) == 1
    assert load_settings({}).watch_namespaces == ()


def test_an_older_event_does_not_replace_a_newer_object() -> None:
    looks: list[tuple[str, str]] = []
    cache = ModelCache(looks.append)
    cache.put(stored(metadata={"resourceVersion": "9"}))
    cache.put(stored(metadata={"resourceVersion": "7", "generation": 0}))
    found = cache.get(("team-a", "research"))
    assert found is not None
    assert found["metadata"]["resourceVersion"] == "9"
    assert len(looks) == 1
    cache.put(stored(metadata={"resourceVersion": "10"}), is_own_write=True)
    assert len(looks) == 1


def test_a_namesake_replaces_a_deleted_object_whatever_its_version() -> None:
    cache = ModelCache(lambda _: None)
    cache.put(stored(metadata={"resourceVersion": "9"}))
    cache.put(stored(metadata={"resourceVersion": "3", "uid": "other"}))
    found = cache.get(("team-a", "research"))
    assert found is not None
    assert found["metadata"]["uid"] == "other"
    cache.drop(("team-a", "nobody"))
    assert len(cache) == 1


def test_a_sweep_spares_what_is_newer_than_the_list() -> None:
    cache = ModelCache(lambda _: None)
    cache.put(stored("old", metadata={"resourceVersion": "5"}))
    cache.put(stored("new", metadata={"resourceVersion": "50"}))
    cache.sweep([], 10)
    assert [obj["metadata"]["name"] for obj in cache] == ["new"]
    assert cache.shows(["uid-team-a-new"])
    assert not cache.shows(["uid-team-a-old"])


def test_a_model_that_is_being_deleted_gives_its_name_up() -> None:
    looks: list[tuple[str, str]] = []
    cache = ModelCache(looks.append)
    cache.put(stored("a", spec={"modelName": "m"}))
    cache.put(
        stored("b", spec={"modelName": "m"}, metadata={"creationTimestamp": "2026-05-05T00:00:00Z"})
    )
    assert cache.holder("m") == ("team-a", "a")
    looks.clear()
    going = {"deletionTimestamp": "2026-06-01T00:00:00Z", "resourceVersion": "2"}
    cache.put(stored("a", spec={"modelName": "m"}, metadata=going))
    assert cache.holder("m") == ("team-a", "b")
    assert ("team-a", "b") in looks


@pytest.mark.parametrize(
    ("path", "resource"),
    [
        ("/api/v1/namespaces/a/configmaps", "configmaps"),
        ("/apis/apps/v1/deployments", "deployments"),
        ("/apis/lgos.dev/v1alpha1/namespaces/a/langgraphmodels/x/status", "langgraphmodels/status"),
        ("/version", "other"),
    ],
)
def test_requests_are_counted_by_resource(path: str, resource: str) -> None:
    metrics = Metrics()
    metrics.requested("GET", path, 200)
    labels = {"verb": "GET", "resource": resource, "code": "200"}
    assert metrics.registry.get_sample_value("lgos_operator_api_requests_total", labels) == 1.0


@pytest.mark.parametrize("field", ["env", "imagePullSecrets"])
def test_a_name_that_repeats_is_refused_as_the_crd_does(field: str) -> None:
    with pytest.raises(InvalidSpecError, match=f"spec.{field}: names must not repeat"):
        read_model(stored(spec={field: [{"name": "a"}, {"name": "a"}]}))
