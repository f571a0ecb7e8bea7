"""What an installation decides: the operator's environment, read once at start."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pydantic import ValidationError

from lgos_contract.environment import ENV_LOG_LEVEL, ENV_METRICS_PORT, METRICS_PORT
from lgos_contract.manifest import (
    Document,
    EnvFromSource,
    LocalObjectReference,
    ResourceRequirements,
)

ENV_WATCH_NAMESPACES: Final = "LGOS_WATCH_NAMESPACES"
"""Namespaces to watch, separated by commas; empty means all."""
ENV_MODEL_DEFAULTS: Final = "LGOS_MODEL_DEFAULTS"
"""JSON of `ModelDefaults`."""
ENV_HEALTH_PORT: Final = "LGOS_HEALTH_PORT"
"""Port of `/healthz` and `/readyz`; default 8080."""
ENV_RESYNC_SECONDS: Final = "LGOS_RESYNC_SECONDS"
"""Seconds between two metadata lists of all LanggraphModels; default 300."""

LOG_LEVELS: Final = ("debug", "info", "warning", "error")


class SettingsError(Exception):
    """The environment holds a value that the operator cannot use; the message names the variable."""


class ModelDefaults(Document):
    """What the installation adds to every model's pods. What a manifest says wins."""

    env_from: tuple[EnvFromSource, ...] = ()
    """Come before the manifest's, so that the manifest's keys win."""
    image_pull_secrets: tuple[LocalObjectReference, ...] = ()
    """Used where the manifest names none."""
    resources: ResourceRequirements | None = None
    """Used where the manifest names none."""


NO_DEFAULTS: Final = ModelDefaults()


@dataclass(frozen=True, slots=True)
class Settings:
    """The operator's settings."""

    watch_namespaces: tuple[str, ...] = ()
    """Empty means all namespaces."""
    model_defaults: ModelDefaults = NO_DEFAULTS
    log_level: str = "info"
    health_port: int = 8080
    metrics_port: int = METRICS_PORT
    resync_seconds: float = 300.0


def load_settings(environ: Mapping[str, str] = os.environ) -> Settings:
    """Read the settings.

    Raises:
        SettingsError: A value cannot be used; the message names the variable and what it may be.
    """
    namespaces = environ.get(ENV_WATCH_NAMESPACES, "")
    level = (environ.get(ENV_LOG_LEVEL) or "info").lower()
    if level not in LOG_LEVELS:
        msg = f"{ENV_LOG_LEVEL} is '{level}'; set it to one of {', '.join(LOG_LEVELS)}"
        raise SettingsError(msg)
    return Settings(
        watch_namespaces=tuple(sorted({part.strip() for part in namespaces.split(",")} - {""})),
        model_defaults=_model_defaults(environ.get(ENV_MODEL_DEFAULTS) or "{}"),
        log_level=level,
        health_port=_integer(environ, ENV_HEALTH_PORT, 8080, highest=65535),
        metrics_port=_integer(environ, ENV_METRICS_PORT, METRICS_PORT, highest=65535),
        resync_seconds=_integer(environ, ENV_RESYNC_SECONDS, 300, highest=86400),
    )


def _model_defaults(text: str) -> ModelDefaults:
    try:
        return ModelDefaults.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the text"
        msg = f"{ENV_MODEL_DEFAULTS}: {place}: {first['msg']}; it is a JSON object with envFrom, imagePullSecrets, resources"
        raise SettingsError(msg) from error


def _integer(environ: Mapping[str, str], name: str, default: int, *, highest: int) -> int:
    text = environ.get(name) or str(default)
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= highest:
        msg = f"{name} is '{text}'; set it to a whole number from 1 to {highest}"
        raise SettingsError(msg)
    return int(text)
