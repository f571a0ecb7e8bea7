"""Reserved metadata keys."""

from __future__ import annotations

import pytest

from langgraph_openai_serve.errors import RequestError
from langgraph_openai_serve.protocols.metadata import check_metadata


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {"conversation_id": "c", "own": "value"},
        {"lgos_settings": "{}", "lgos_run_id": "f654e904-1bd8-4fd6-a8bf-53a49ca25699"},
    ],
)
def test_known_and_foreign_keys_are_taken(metadata: dict[str, str]) -> None:
    check_metadata(metadata)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("lgos_setings", "{}"),
        ("lgos_run_id", "run-1"),
        ("lgos_run_id", "00000000-0000-0000-0000-000000000000"),
    ],
)
def test_reserved_key_that_means_nothing_is_refused(key: str, value: str) -> None:
    with pytest.raises(RequestError) as caught:
        check_metadata({key: value})
    assert caught.value.param == f"metadata.{key}"
