"""What an installation decides: the gateway's environment, read once at start."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lgos_contract.environment import (
    ENV_DRAIN_SECONDS,
    ENV_HOST,
    ENV_KEEP_ALIVE_SECONDS,
    ENV_LOG_LEVEL,
    ENV_MAX_BODY_BYTES,
    ENV_METRICS_PORT,
    ENV_PORT,
    ENV_SCOPE_KEY,
    METRICS_PORT,
)
from lgos_contract.scope import parse_scope_keys

ENV_WATCH_NAMESPACES: Final = "LGOS_WATCH_NAMESPACES"
"""Namespaces whose models are served, separated by commas; empty means all."""
ENV_CLUSTER_DOMAIN: Final = "LGOS_CLUSTER_DOMAIN"
"""Domain of the cluster's Services."""
ENV_TRUSTED_HOSTS: Final = "LGOS_TRUSTED_HOSTS"
"""Hosts, separated by commas, that registry entries may name though they are no Services of their namespace."""
ENV_API_KEYS_DIR: Final = "LGOS_API_KEYS_DIR"
"""Folder with one `*.json` file for each API key; unset: requests need no key."""
ENV_HEADER_TIMEOUT_SECONDS: Final = "LGOS_HEADER_TIMEOUT_SECONDS"
"""Seconds that a client may take to send the headers of a request."""
ENV_SHUTDOWN_DELAY_SECONDS: Final = "LGOS_SHUTDOWN_DELAY_SECONDS"
"""Seconds after SIGTERM that new connections are still taken, because some clients do not know yet."""
ENV_BODY_TIMEOUT_SECONDS: Final = "LGOS_BODY_TIMEOUT_SECONDS"
"""Seconds that a client may be silent within its request body."""
ENV_CONNECT_TIMEOUT_SECONDS: Final = "LGOS_UPSTREAM_CONNECT_TIMEOUT_SECONDS"
"""Seconds to wait for a connection to a model."""
ENV_READ_TIMEOUT_SECONDS: Final = "LGOS_UPSTREAM_READ_TIMEOUT_SECONDS"
"""Seconds that a model may be silent; its streams carry a comment every 15 s."""

CLUSTER_DOMAIN: Final = "cluster.local"
LOG_LEVELS: Final = ("debug", "info", "warning", "error")


class SettingsError(Exception):
    """The environment holds a value that the gateway cannot use; the message names the variable."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The gateway's settings."""

    host: str = "0.0.0.0"  # noqa: S104 - a pod listens on all its addresses
    port: int = 8080
    metrics_port: int = METRICS_PORT
    watch_namespaces: tuple[str, ...] = ()
    """Empty means all namespaces."""
    cluster_domain: str = CLUSTER_DOMAIN
    trusted_hosts: tuple[str, ...] = ()
    api_keys_dir: Path | None = None
    """`None`: requests need no key."""
    scope_keys: tuple[bytes, ...] = ()
    """Sign the scope for the models' APIs with the first one; empty: it is not sent."""
    log_level: str = "info"
    max_body_bytes: int = 32 * 1024 * 1024
    header_timeout_seconds: float = 10.0
    body_timeout_seconds: float = 30.0
    connect_timeout_seconds: float = 2.0
    read_timeout_seconds: float = 300.0
    keep_alive_seconds: float = 75.0
    """Idle seconds after which a client's connection is closed; longer than what load balancers keep theirs."""
    shutdown_delay_seconds: float = 3.0
    drain_seconds: float = 25.0
    """Seconds that open requests may take once no new connection is taken."""


def load_settings(environ: Mapping[str, str] = os.environ) -> Settings:
    """Read the settings.

    Raises:
        SettingsError: A value cannot be used; the message names the variable and what it may be.
    """
    defaults = Settings()
    level = (environ.get(ENV_LOG_LEVEL) or defaults.log_level).lower()
    if level not in LOG_LEVELS:
        msg = f"{ENV_LOG_LEVEL} is '{level}'; set it to one of {', '.join(LOG_LEVELS)}"
        raise SettingsError(msg)
    keys_dir = environ.get(ENV_API_KEYS_DIR)
    try:
        scope_keys = parse_scope_keys(environ.get(ENV_SCOPE_KEY, ""))
    except ValueError as error:
        msg = f"{ENV_SCOPE_KEY} {error}"
        raise SettingsError(msg) from error

    def number(name: str, default: float, *, lowest: int = 1, highest: int = 86400) -> int:
        return _integer(environ, name, int(default), lowest, highest)

    return Settings(
        host=environ.get(ENV_HOST) or defaults.host,
        port=number(ENV_PORT, defaults.port, highest=65535),
        metrics_port=number(ENV_METRICS_PORT, defaults.metrics_port, highest=65535),
        watch_namespaces=_list(environ, ENV_WATCH_NAMESPACES),
        cluster_domain=environ.get(ENV_CLUSTER_DOMAIN) or defaults.cluster_domain,
        trusted_hosts=_list(environ, ENV_TRUSTED_HOSTS),
        api_keys_dir=Path(keys_dir) if keys_dir else None,
        scope_keys=scope_keys,
        log_level=level,
        max_body_bytes=number(ENV_MAX_BODY_BYTES, defaults.max_body_bytes, highest=2**31),
        header_timeout_seconds=number(ENV_HEADER_TIMEOUT_SECONDS, defaults.header_timeout_seconds),
        body_timeout_seconds=number(ENV_BODY_TIMEOUT_SECONDS, defaults.body_timeout_seconds),
        connect_timeout_seconds=number(
            ENV_CONNECT_TIMEOUT_SECONDS, defaults.connect_timeout_seconds
        ),
        read_timeout_seconds=number(ENV_READ_TIMEOUT_SECONDS, defaults.read_timeout_seconds),
        keep_alive_seconds=number(ENV_KEEP_ALIVE_SECONDS, defaults.keep_alive_seconds),
        shutdown_delay_seconds=number(
            ENV_SHUTDOWN_DELAY_SECONDS, defaults.shutdown_delay_seconds, lowest=0
        ),
        drain_seconds=number(ENV_DRAIN_SECONDS, defaults.drain_seconds, lowest=0),
    )


def _list(environ: Mapping[str, str], name: str) -> tuple[str, ...]:
    return tuple(sorted({part.strip() for part in environ.get(name, "").split(",")} - {""}))


def _integer(environ: Mapping[str, str], name: str, default: int, lowest: int, highest: int) -> int:
    text = environ.get(name) or str(default)
    if not text.isascii() or not text.isdigit() or not lowest <= int(text) <= highest:
        msg = f"{name} is '{text}'; set it to a whole number from {lowest} to {highest}"
        raise SettingsError(msg)
    return int(text)
