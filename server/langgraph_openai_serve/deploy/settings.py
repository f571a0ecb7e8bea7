"""The environment of `lgos serve`, read once into a frozen object."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from langgraph_openai_serve.errors import ConfigurationError
from lgos_contract import environment as names
from lgos_contract.scope import parse_scope_keys

LOG_LEVELS: Final = ("debug", "info", "warning", "error")
DEFAULT_NAMESPACE: Final = "default"
PORT_MAX: Final = 65535
DAY: Final = 86400
GIBIBYTE: Final = 1024**3
ANY_HOST: Final = "0.0.0.0"  # noqa: S104 - a pod is reached on its own address


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """What the API process of one model is told."""

    model: str
    namespace: str
    registry_dir: Path
    revision: str
    host: str
    port: int
    metrics_port: int
    drain_seconds: int
    keep_alive_seconds: int
    sse_keep_alive_seconds: int
    max_body_bytes: int
    postgres_dsn: str | None
    lease_ttl_seconds: int
    hatchet_token: str | None
    worker_slots: int
    schedule_timeout_seconds: int
    execution_timeout_seconds: int
    log_level: str
    scope_keys: tuple[bytes, ...] = ()
    """Requests must carry a scope header signed with one of them; empty: anybody may ask."""


def load_settings(environ: Mapping[str, str] = os.environ) -> ServeSettings:
    """Read the settings.

    Raises:
        ConfigurationError: A variable is missing or cannot be used; the message names it and what it may be.
    """
    model = environ.get(names.ENV_MODEL, "")
    if not model:
        msg = (
            f"{names.ENV_MODEL} is not set; the operator sets it in a pod, on your machine use"
            " `lgos dev -f MANIFEST`"
        )
        raise ConfigurationError(msg)
    return ServeSettings(
        model=model,
        namespace=environ.get(names.ENV_NAMESPACE) or DEFAULT_NAMESPACE,
        registry_dir=Path(environ.get(names.ENV_REGISTRY_DIR) or names.REGISTRY_DIR),
        revision=environ.get(names.ENV_REVISION, ""),
        host=environ.get(names.ENV_HOST) or ANY_HOST,
        port=_port(environ, names.ENV_PORT, names.API_PORT),
        metrics_port=_port(environ, names.ENV_METRICS_PORT, names.METRICS_PORT),
        drain_seconds=_integer(environ, names.ENV_DRAIN_SECONDS, 25, 0, DAY),
        keep_alive_seconds=_integer(environ, names.ENV_KEEP_ALIVE_SECONDS, 75, 1, DAY),
        sse_keep_alive_seconds=_integer(environ, names.ENV_SSE_KEEP_ALIVE_SECONDS, 15, 1, DAY),
        max_body_bytes=_integer(environ, names.ENV_MAX_BODY_BYTES, 32 * 1024**2, 1024, GIBIBYTE),
        postgres_dsn=environ.get(names.ENV_POSTGRES_DSN) or None,
        lease_ttl_seconds=_integer(environ, names.ENV_LEASE_TTL_SECONDS, 60, 2, 3600),
        hatchet_token=environ.get(names.ENV_HATCHET_TOKEN) or None,
        worker_slots=_integer(environ, names.ENV_WORKER_SLOTS, 8, 1, 1000),
        schedule_timeout_seconds=_integer(
            environ, names.ENV_SCHEDULE_TIMEOUT_SECONDS, 1800, 1, 7 * DAY
        ),
        execution_timeout_seconds=_integer(
            environ, names.ENV_EXECUTION_TIMEOUT_SECONDS, 3600, 1, 7 * DAY
        ),
        log_level=log_level(environ),
        scope_keys=_scope_keys(environ),
    )


def log_level(environ: Mapping[str, str] = os.environ) -> str:
    """Return the level of the program's logs.

    Raises:
        ConfigurationError: There is no such level.
    """
    level = (environ.get(names.ENV_LOG_LEVEL) or "info").lower()
    if level not in LOG_LEVELS:
        msg = f"{names.ENV_LOG_LEVEL} is '{level}'; set it to one of {', '.join(LOG_LEVELS)}"
        raise ConfigurationError(msg)
    return level


def _scope_keys(environ: Mapping[str, str]) -> tuple[bytes, ...]:
    try:
        return parse_scope_keys(environ.get(names.ENV_SCOPE_KEY, ""))
    except ValueError as error:
        msg = f"{names.ENV_SCOPE_KEY} {error}"
        raise ConfigurationError(msg) from error


def termination_log(environ: Mapping[str, str] = os.environ) -> Path:
    """Return where a process that cannot start leaves its sentence."""
    return Path(environ.get(names.ENV_TERMINATION_LOG) or names.TERMINATION_LOG)


def _port(environ: Mapping[str, str], name: str, default: int) -> int:
    return _integer(environ, name, default, 1, PORT_MAX)


def _integer(environ: Mapping[str, str], name: str, default: int, lowest: int, highest: int) -> int:
    text = environ.get(name) or str(default)
    if not (text.isascii() and text.isdigit() and lowest <= int(text) <= highest):
        msg = f"{name} is '{text}'; set it to a whole number from {lowest} to {highest}"
        raise ConfigurationError(msg)
    return int(text)
