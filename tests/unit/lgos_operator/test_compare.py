from __future__ import annotations

from typing import Any

import pytest

from lgos_operator.compare import covers, quantity


@pytest.mark.parametrize(
    ("live", "desired"),
    [
        ({"a": 1, "foreign": 2}, {"a": 1}),
        ({"resources": {"limits": {"cpu": "100m"}}}, {"resources": {"limits": {"cpu": "0.1"}}}),
        ({"resources": {"limits": {"memory": "1Gi"}}}, {"resources": {"limits": {"memory": "1024Mi"}}}),
        ({"emptyDir": {"sizeLimit": "1k"}}, {"emptyDir": {"sizeLimit": "1e3"}}),
        ({"env": [{"name": "A"}]}, {"env": [{"name": "A", "value": ""}]}),
        ({"env": [{"name": "Z", "value": "1"}, {"name": "A", "value": "2"}]}, {"env": [{"name": "A", "value": "2"}]}),
        ({"command": ["a", "b"]}, {"command": ["a", "b"]}),
        ({}, {"list": [], "map": {}, "none": None}),
        ({"envFrom": [{"secretRef": {"name": "s", "optional": False}}]}, {"envFrom": [{"secretRef": {"name": "s"}}]}),
    ],
)  # fmt: skip
def test_what_was_applied_is_still_there(live: Any, desired: Any) -> None:
    assert covers(live, desired)


@pytest.mark.parametrize(
    ("live", "desired"),
    [
        ({"a": 2}, {"a": 1}),
        ({"a": True}, {"a": 1}),
        ({}, {"a": False}),
        ({"a": "x"}, {"a": {"b": 1}}),
        ({"a": "x"}, {"a": ["b"]}),
        ({"limits": {"cpu": "101m"}}, {"limits": {"cpu": "0.1"}}),
        ({"limits": {"cpu": "other"}}, {"limits": {"cpu": "0.1"}}),
        ({"env": [{"name": "B", "value": "2"}]}, {"env": [{"name": "A", "value": "2"}]}),
        ({"command": ["a", "b", "c"]}, {"command": ["a", "b"]}),
        ({"command": ["b", "a"]}, {"command": ["a", "b"]}),
        ({"value": "1"}, {"value": "01"}),
    ],
)
def test_what_others_changed_is_noticed(live: Any, desired: Any) -> None:
    assert not covers(live, desired)


@pytest.mark.parametrize(
    ("left", "right"),
    [("1", "1000m"), ("1Ki", "1024"), ("2e3", "2k"), (1, "1"), ("0.5Gi", "512Mi")],
)
def test_quantities_are_compared_by_value(left: Any, right: Any) -> None:
    assert quantity(left) == quantity(right)


def test_what_is_no_quantity_is_none() -> None:
    assert quantity("much") is None
