"""The environment of `lgos serve` is read once, and a wrong value is named with what it may be."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from langgraph_openai_serve.deploy.settings import ServeSettings, load_settings, termination_log
from langgraph_openai_serve.errors import ConfigurationError
from lgos_contract import environment

REFERENCE = Path(__file__).parents[4] / "docs/reference/environment.md"


def test_defaults_are_those_of_a_pod() -> None:
    assert load_settings({"LGOS_MODEL": "agent"}) == ServeSettings(
        model="agent",
        namespace="default",
        registry_dir=Path("/etc/lgos/registry"),
        revision="",
        host="0.0.0.0",
        port=8000,
        metrics_port=9090,
        drain_seconds=25,
        keep_alive_seconds=75,
        sse_keep_alive_seconds=15,
        max_body_bytes=32 * 1024 * 1024,
        postgres_dsn=None,
        lease_ttl_seconds=60,
        hatchet_token=None,
        worker_slots=8,
        schedule_timeout_seconds=1800,
        execution_timeout_seconds=3600,
        log_level="info",
    )
    assert termination_log({}) == Path("/dev/termination-log")


def test_every_variable_is_read(tmp_path: Path) -> None:
    environ = {
        "LGOS_MODEL": "agent",
        "LGOS_REGISTRY_DIR": str(tmp_path),
        "LGOS_REVISION": "abc",
        "LGOS_HOST": "::",
        "LGOS_PORT": "1",
        "LGOS_METRICS_PORT": "2",
        "LGOS_DRAIN_SECONDS": "0",
        "LGOS_KEEP_ALIVE_SECONDS": "4",
        "LGOS_SSE_KEEP_ALIVE_SECONDS": "5",
        "LGOS_MAX_BODY_BYTES": "1024",
        "LGOS_POSTGRES_DSN": "postgresql://db",
        "LGOS_LEASE_TTL_SECONDS": "30",
        "LGOS_NAMESPACE": "team-a",
        "HATCHET_CLIENT_TOKEN": "token",
        "LGOS_WORKER_SLOTS": "9",
        "LGOS_SCHEDULE_TIMEOUT_SECONDS": "10",
        "LGOS_EXECUTION_TIMEOUT_SECONDS": "11",
        "LGOS_LOG_LEVEL": "DEBUG",
    }
    assert load_settings(environ) == ServeSettings(
        *("agent", "team-a", tmp_path, "abc", "::", 1, 2, 0, 4, 5, 1024),
        *("postgresql://db", 30, "token", 9, 10, 11, "debug"),
    )
    assert termination_log({"LGOS_TERMINATION_LOG": "log"}) == Path("log")


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("LGOS_MODEL", "", "LGOS_MODEL is not set"),
        ("LGOS_PORT", "http", "LGOS_PORT is 'http'; set it to a whole number from 1 to 65535"),
        ("LGOS_PORT", "65536", "from 1 to 65535"),
        ("LGOS_METRICS_PORT", "-1", "LGOS_METRICS_PORT is '-1'"),
        ("LGOS_DRAIN_SECONDS", "1.5", "LGOS_DRAIN_SECONDS is '1.5'"),
        ("LGOS_MAX_BODY_BYTES", "1", "from 1024"),
        ("LGOS_LOG_LEVEL", "loud", "LGOS_LOG_LEVEL is 'loud'; set it to one of debug, info, warning, error"),
    ],
)  # fmt: skip
def test_wrong_value_is_named_with_what_it_may_be(variable: str, value: str, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        load_settings({"LGOS_MODEL": "agent", variable: value})


def test_reference_names_every_variable_with_its_default() -> None:
    rows = dict(re.findall(r"^\| `([A-Z]+_\w+)` \| (.*?) \|", REFERENCE.read_text(), re.MULTILINE))
    names = {
        value
        for name, value in vars(environment).items()
        if name.startswith("ENV_") and name != "ENV_PREFIX"
    }
    assert set(rows) == names
    defaults = load_settings({"LGOS_MODEL": "agent"})
    for variable, field in {
        "LGOS_REGISTRY_DIR": "registry_dir",
        "LGOS_HOST": "host",
        "LGOS_PORT": "port",
        "LGOS_METRICS_PORT": "metrics_port",
        "LGOS_DRAIN_SECONDS": "drain_seconds",
        "LGOS_KEEP_ALIVE_SECONDS": "keep_alive_seconds",
        "LGOS_SSE_KEEP_ALIVE_SECONDS": "sse_keep_alive_seconds",
        "LGOS_MAX_BODY_BYTES": "max_body_bytes",
        "LGOS_LOG_LEVEL": "log_level",
    }.items():
        assert rows[variable] == f"`{getattr(defaults, field)}`"
