from __future__ import annotations

import pytest

from lgos_gateway.settings import Settings, SettingsError, load_settings


def test_an_empty_environment_gives_the_defaults() -> None:
    assert load_settings({}) == Settings()


def test_every_variable_reaches_its_setting() -> None:
    environ = {
        "LGOS_HOST": "127.0.0.1",
        "LGOS_PORT": "8081",
        "LGOS_METRICS_PORT": "9091",
        "LGOS_WATCH_NAMESPACES": "b, a,,a",
        "LGOS_LOG_LEVEL": "DEBUG",
        "LGOS_MAX_BODY_BYTES": "1024",
        "LGOS_BODY_TIMEOUT_SECONDS": "9",
        "LGOS_UPSTREAM_CONNECT_TIMEOUT_SECONDS": "4",
        "LGOS_UPSTREAM_READ_TIMEOUT_SECONDS": "30",
        "LGOS_KEEP_ALIVE_SECONDS": "10",
        "LGOS_SHUTDOWN_DELAY_SECONDS": "0",
        "LGOS_DRAIN_SECONDS": "7",
    }
    assert load_settings(environ) == Settings(
        host="127.0.0.1",
        port=8081,
        metrics_port=9091,
        watch_namespaces=("a", "b"),
        log_level="debug",
        max_body_bytes=1024,
        body_timeout_seconds=9,
        connect_timeout_seconds=4,
        read_timeout_seconds=30,
        keep_alive_seconds=10,
        shutdown_delay_seconds=0,
        drain_seconds=7,
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LGOS_PORT", "http"),
        ("LGOS_PORT", "0"),
        ("LGOS_PORT", "70000"),
        ("LGOS_DRAIN_SECONDS", "-1"),
        ("LGOS_MAX_BODY_BYTES", "٣"),
        ("LGOS_LOG_LEVEL", "loud"),
    ],
)
def test_a_bad_value_names_its_variable(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=f"^{name} is '.*'; set it to "):
        load_settings({name: value})
