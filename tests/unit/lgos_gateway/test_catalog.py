from __future__ import annotations

import json
import logging

import pytest

from gateway_kit.served import data_of, entry
from lgos_contract.registry import ModelState
from lgos_gateway.catalog import Catalog

HOSTS = ["127.0.0.1", "young", "old", "host"]


def ids(catalog: Catalog) -> list[str]:
    document = json.loads(catalog.listing)
    assert document["object"] == "list"
    return [model["id"] for model in document["data"]]


def base_of(catalog: Catalog, model: str) -> str | None:
    route = catalog.route(model)
    return route.base if route else None


def test_an_empty_catalog_lists_nothing() -> None:
    assert json.loads(Catalog().listing) == {"object": "list", "data": []}


def test_models_are_listed_by_name_with_the_extension() -> None:
    catalog = Catalog(trusted_hosts=HOSTS)
    catalog.put("team-a", data_of(entry("b"), entry("a", features=("client_events",))))
    assert ids(catalog) == ["a", "b"]
    assert json.loads(catalog.listing)["data"][0] == {
        "id": "a",
        "object": "model",
        "created": 1764518400,
        "owned_by": "team-a",
        "lgos": {
            "schema_version": 1,
            "description": "The model a.",
            "features": ["client_events"],
        },
    }


def test_a_model_that_is_starting_is_neither_listed_nor_routed() -> None:
    catalog = Catalog(trusted_hosts=HOSTS)
    catalog.put("team-a", data_of(entry("new", state=ModelState.STARTING)))
    assert ids(catalog) == []
    assert catalog.route("new") is None


def test_a_route_has_the_urls_of_the_models_api() -> None:
    catalog = Catalog(trusted_hosts=HOSTS)
    catalog.put("team-a", data_of(entry("org/echo", "http://echo-api.team-a.svc:8000/v1")))
    route = catalog.route("org/echo")
    assert route is not None
    assert str(route.chat) == "http://echo-api.team-a.svc:8000/v1/chat/completions"
    assert str(route.responses) == "http://echo-api.team-a.svc:8000/v1/responses"


def test_a_removed_key_removes_its_model_only() -> None:
    catalog = Catalog(trusted_hosts=HOSTS)
    catalog.put("team-a", data_of(entry("a"), entry("b")))
    catalog.put("team-b", data_of(entry("c", namespace="team-b")))
    catalog.put("team-a", data_of(entry("b")))
    assert ids(catalog) == ["b", "c"]
    assert "a" not in catalog


def test_a_removed_namespace_removes_all_its_models() -> None:
    catalog = Catalog(trusted_hosts=HOSTS)
    catalog.put("team-a", data_of(entry("a")))
    catalog.put("team-b", data_of(entry("b", namespace="team-b")))
    catalog.remove("team-a")
    assert ids(catalog) == ["b"]


def test_the_older_of_two_models_with_one_name_is_served() -> None:
    catalog = Catalog(trusted_hosts=HOSTS)
    younger = entry("same", "http://young/v1", namespace="team-a", created=20)
    older = entry("same", "http://old/v1", namespace="team-b", created=10)
    catalog.put("team-a", data_of(younger))
    catalog.put("team-b", data_of(older))
    assert ids(catalog) == ["same"]
    assert base_of(catalog, "same") == "http://old/v1"
    catalog.remove("team-b")
    assert base_of(catalog, "same") == "http://young/v1"


def test_an_older_model_that_is_starting_does_not_hide_a_served_one() -> None:
    catalog = Catalog(trusted_hosts=HOSTS)
    starting = entry("same", namespace="team-b", created=10, state=ModelState.STARTING)
    catalog.put("team-a", data_of(entry("same", "http://young/v1", created=20)))
    catalog.put("team-b", data_of(starting))
    assert base_of(catalog, "same") == "http://young/v1"


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"id": "x"}', '{"schema_version": 2}'], ids=lambda text: text or "none"
)
def test_a_bad_key_is_logged_once_and_skipped(text: str, caplog: pytest.LogCaptureFixture) -> None:
    catalog = Catalog(trusted_hosts=HOSTS)
    good = data_of(entry("good"))
    with caplog.at_level(logging.WARNING):
        catalog.put("team-a", {**good, "bad.json": text})
        catalog.put("team-a", {**good, "bad.json": text, **data_of(entry("later"))})
    assert ids(catalog) == ["good", "later"]
    [record] = caplog.records
    assert "bad.json of namespace team-a is skipped" in record.getMessage()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"base_url": "http://[bad/v1"}, "IPv6"),
        ({"base_url": "http://host:99999/v1"}, "Port out of range"),
        ({"base_url": "host/v1"}, "no http address"),
        ({"base_url": "ftp://host/v1"}, "no http address"),
        ({"base_url": "http:"}, "no http address"),
        ({"created": 10**30}, "64-bit"),
    ],
    ids=["no IPv6", "port", "no scheme", "no http", "empty", "large number"],
)
def test_an_entry_that_cannot_be_rendered_is_skipped_and_the_others_stay(
    changes: dict[str, object], reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    catalog = Catalog(trusted_hosts=HOSTS)
    catalog.put("team-a", data_of(entry("good"), entry("bad", **changes)))
    assert ids(catalog) == ["good"]
    assert catalog.route("bad") is None
    [record] = caplog.records
    assert reason in record.getMessage()


def test_the_log_of_a_bad_key_names_the_field_and_not_its_value(
    caplog: pytest.LogCaptureFixture,
) -> None:
    Catalog().put("team-a", {"bad.json": '{"id": "x", "settings": "s3cr3t"}'})
    assert "settings: " in caplog.text
    assert "s3cr3t" not in caplog.text


def test_an_entry_of_a_later_schema_is_skipped(caplog: pytest.LogCaptureFixture) -> None:
    catalog = Catalog(trusted_hosts=HOSTS)
    later = entry("later").model_copy(update={"schema_version": 2})
    catalog.put("team-a", data_of(later))
    assert ids(catalog) == []
    assert "schema version 2" in caplog.text


def test_an_entry_that_goes_bad_leaves_and_comes_back_when_mended() -> None:
    catalog = Catalog(trusted_hosts=HOSTS)
    good = data_of(entry("a"))
    catalog.put("team-a", good)
    catalog.put("team-a", dict.fromkeys(good, "{"))
    assert ids(catalog) == []
    catalog.put("team-a", good)
    assert ids(catalog) == ["a"]


def test_the_same_data_again_renders_nothing_anew() -> None:
    changes: list[frozenset[str]] = []
    catalog = Catalog(changes.append)
    catalog.put("team-a", data_of(entry("a")))
    before = catalog.listing
    catalog.put("team-a", data_of(entry("a")))
    assert catalog.listing is before
    assert changes == [frozenset(), frozenset({"a"})]


@pytest.mark.parametrize(
    "changes",
    [
        {"namespace": "team-a"},
        {"base_url": "http://pay-api.team-a.svc:8000/v1"},
        {"base_url": "http://attacker.example/v1"},
        {"base_url": "http://pay-api.team-b.svc.attacker.example/v1"},
        {"base_url": "http://pay-api.team-b.svc@attacker.example/v1"},
        {"base_url": "http://pay-api.team-b.svc:8000@attacker.example/v1"},
        {"base_url": "http://169.254.169.254/v1"},
        {"base_url": "http://team-b.svc:8000/v1"},
        {"base_url": "http://kubernetes.default.svc/v1"},
    ],
    ids=lambda changes: next(iter(changes.values())),
)
def test_a_namespace_speaks_for_its_own_services_only(
    changes: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    catalog = Catalog()
    catalog.put("team-a", data_of(entry("pay", created=20)))
    catalog.put("team-b", data_of(entry("pay", **{"namespace": "team-b", "created": 1, **changes})))
    assert base_of(catalog, "pay") == "http://pay-api.team-a.svc:8000/v1"
    assert "of namespace team-b is skipped" in caplog.text


@pytest.mark.parametrize("host", ["pay-api.team-a.svc", "pay-api.team-a.svc.example.org"])
def test_a_service_may_be_named_with_the_domain_of_the_cluster(host: str) -> None:
    catalog = Catalog(cluster_domain="example.org")
    catalog.put("team-a", data_of(entry("pay", f"http://{host}:8000/v1")))
    assert ids(catalog) == ["pay"]


def test_a_key_lists_the_models_that_it_may_use() -> None:
    catalog = Catalog()
    catalog.put("team-a", data_of(entry("a/one"), entry("a/two"), entry("b")))

    def listed(*patterns: str) -> list[str]:
        return [model["id"] for model in json.loads(catalog.listing_for(patterns))["data"]]

    assert listed("a/*") == ["a/one", "a/two"]
    assert listed("b") == ["b"]
    assert listed("*") == ["a/one", "a/two", "b"]
    catalog.put("team-a", data_of(entry("a/two"), entry("b")))
    assert listed("a/*") == ["a/two"]
