"""Names, ports and paths that the operator renders into a pod and the pod's program reads."""

from __future__ import annotations

from typing import Final

ENV_PREFIX: Final = "LGOS_"
"""Environment variables with this prefix belong to the platform; a manifest cannot set them."""

ENV_MODEL: Final = "LGOS_MODEL"
"""`metadata.name` of the LanggraphModel that a pod serves; names the registry key that it reads."""
ENV_NAMESPACE: Final = "LGOS_NAMESPACE"
"""Namespace of the LanggraphModel."""
ENV_REGISTRY_DIR: Final = "LGOS_REGISTRY_DIR"
"""Folder where the model registry ConfigMap is mounted; default `REGISTRY_DIR`."""
ENV_REVISION: Final = "LGOS_REVISION"
"""`RegistryEntry.revision` that this pod was rendered for."""
ENV_HOST: Final = "LGOS_HOST"
"""Address that the API listens on; default `0.0.0.0`."""
ENV_PORT: Final = "LGOS_PORT"
"""Port of the OpenAI API; default `API_PORT`."""
ENV_METRICS_PORT: Final = "LGOS_METRICS_PORT"
"""Port of `/metrics`; default `METRICS_PORT`."""
ENV_DRAIN_SECONDS: Final = "LGOS_DRAIN_SECONDS"
"""Seconds that open requests may still take after SIGTERM."""
ENV_LOG_LEVEL: Final = "LGOS_LOG_LEVEL"
"""Level of the programs' logs: `debug`, `info`, `warning` or `error`; default `info`."""
ENV_KEEP_ALIVE_SECONDS: Final = "LGOS_KEEP_ALIVE_SECONDS"
"""Seconds that an idle connection to the API stays open; longer than any client's or proxy's own limit."""
ENV_SSE_KEEP_ALIVE_SECONDS: Final = "LGOS_SSE_KEEP_ALIVE_SECONDS"
"""Longest silence of an event stream, in seconds; then it carries a comment."""
ENV_MAX_BODY_BYTES: Final = "LGOS_MAX_BODY_BYTES"
"""Larger request bodies are refused with 413."""
ENV_POSTGRES_DSN: Final = "LGOS_POSTGRES_DSN"
"""Connection string of the database where runs pause; from the Secret `lgos-platform`."""
ENV_SCOPE_KEY: Final = "LGOS_SCOPE_KEY"
"""Key of the signature on the scope that the gateway hands over; two keys with a comma between while it is changed."""
ENV_HATCHET_TOKEN: Final = "HATCHET_CLIENT_TOKEN"  # noqa: S105 - the name of a variable
"""Token of the Hatchet engine; from the Secret `lgos-platform`, with the SDK's other variables."""
ENV_WORKER_SLOTS: Final = "LGOS_WORKER_SLOTS"
"""How many background runs a worker runs at once."""
ENV_SCHEDULE_TIMEOUT_SECONDS: Final = "LGOS_SCHEDULE_TIMEOUT_SECONDS"
"""How long a background run may wait for a worker."""
ENV_EXECUTION_TIMEOUT_SECONDS: Final = "LGOS_EXECUTION_TIMEOUT_SECONDS"
"""How long a background run may take."""
ENV_LEASE_TTL_SECONDS: Final = "LGOS_LEASE_TTL_SECONDS"
"""Seconds that a run lease lives without a renewal, and so how long a killed pod's runs stay locked."""
ENV_TERMINATION_LOG: Final = "LGOS_TERMINATION_LOG"
"""Where a program that cannot start leaves its sentence; default `TERMINATION_LOG`."""

API_PORT: Final = 8000
"""Container and Service port of the OpenAI API."""
METRICS_PORT: Final = 9090
"""Container port of `/metrics`, in every program."""
HEALTH_PATH: Final = "/healthz"
"""Liveness: the process answers."""
READY_PATH: Final = "/readyz"
"""Readiness: the process takes new requests."""
METRICS_PATH: Final = "/metrics"

REGISTRY_DIR: Final = "/etc/lgos/registry"
"""Where a model pod finds its entry of the registry ConfigMap, as the file `<name>.json`."""
TERMINATION_LOG: Final = "/dev/termination-log"
"""Where a program that cannot start leaves the sentence that the operator puts into a condition."""


def background_task(namespace: str, name: str) -> str:
    """Return the engine's name of the task that runs a model's background Responses.

    Args:
        namespace: `metadata.namespace` of the LanggraphModel.
        name: Its `metadata.name`.
    """
    return f"lgos.{namespace}.{name}"
