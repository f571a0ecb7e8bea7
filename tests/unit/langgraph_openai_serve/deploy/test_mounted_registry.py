"""The mounted registry entry becomes a declaration, also when it comes late or not at all."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from langgraph_openai_serve.deploy.registry import mounted_declaration
from langgraph_openai_serve.errors import ConfigurationError
from lgos_contract.registry import RegistryEntry, dump_entry


def mount(folder: Path, revision: str) -> None:
    entry = RegistryEntry(
        id="agent", namespace="a", name="agent", graph="team:config", base_url="http://x", created=1, owned_by="a",
        revision=revision,
    )  # fmt: skip
    (folder / "agent.json").write_text(dump_entry(entry))


@pytest.mark.parametrize("revision", ["", "right"])
async def test_entry_of_the_right_revision_is_taken_at_once(tmp_path: Path, revision: str) -> None:
    mount(tmp_path, "right")
    found = await mounted_declaration(tmp_path, "agent", revision=revision, wait_seconds=0)
    assert (found.id, found.graph) == ("agent", "team:config")


async def test_entry_of_another_revision_is_served_after_the_wait(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    mount(tmp_path, "older")
    with caplog.at_level(logging.WARNING):
        found = await mounted_declaration(tmp_path, "agent", revision="newer", wait_seconds=0.01)
    assert found.id == "agent"
    assert "did not get revision newer" in caplog.text


async def test_absent_entry_is_named_with_what_to_look_at(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"agent\.json .*is the ConfigMap mounted there"):
        await mounted_declaration(tmp_path, "agent", revision="", wait_seconds=0.01)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "cannot be read"),
        ('{"schema_version": 2, "id": "agent", "namespace": "a", "name": "a", "graph": "g", "base_url": "u",'
         ' "created": 1, "owned_by": "a"}', "schema version 2"),
    ],
)  # fmt: skip
async def test_unreadable_entry_is_named(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "agent.json").write_text(text)
    with pytest.raises(ConfigurationError, match=words):
        await mounted_declaration(tmp_path, "agent", revision="", wait_seconds=0.01)
