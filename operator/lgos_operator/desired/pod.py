"""The pod of a model's API: one container that meets the PodSecurity level `restricted` and runs as any user.

The image decides the user (a numeric one, not root); nothing here sets `runAsUser`, so a platform may give pods a user
of its own. The root filesystem is read-only; `/tmp` is writable and is the home folder.
"""

from __future__ import annotations

from typing import Final

from lgos_contract import environment
from lgos_contract.manifest import ApiComponent, Document, LanggraphModel
from lgos_contract.registry import REGISTRY_NAME, RegistryEntry, registry_key
from lgos_operator import names
from lgos_operator.resource import Object
from lgos_operator.settings import ModelDefaults

PRE_STOP_SECONDS: Final = 3
"""A stopping pod still takes requests for this long, until no Service or gateway sends any."""
START_SECONDS: Final = 300
"""How long importing the graph may take before the container is started again."""


def pod_template(model: LanggraphModel, entry: RegistryEntry, defaults: ModelDefaults) -> Object:
    """Return the pod template of a model's API Deployment."""
    spec, name = model.spec, model.metadata.name
    pull_secrets = spec.image_pull_secrets or defaults.image_pull_secrets
    pod: Object = {
        "serviceAccountName": spec.service_account_name or name,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": spec.api.termination_grace_period_seconds,
        "securityContext": {
            "runAsNonRoot": True,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_container(model, entry, defaults)],
        "volumes": [
            {"name": "tmp", "emptyDir": {}},
            {
                "name": "registry",
                "configMap": {
                    "name": REGISTRY_NAME,
                    "items": [{"key": registry_key(name), "path": registry_key(name)}],
                },
            },
        ],
    }
    if pull_secrets:
        pod["imagePullSecrets"] = [_plain(reference) for reference in pull_secrets]
    return {
        "metadata": {
            "labels": names.labels(name, spec.image),
            "annotations": {names.CONFIG_HASH: entry.revision},
        },
        "spec": pod,
    }


def _container(model: LanggraphModel, entry: RegistryEntry, defaults: ModelDefaults) -> Object:
    spec = model.spec
    container: Object = {
        "name": names.COMPONENT_API,
        "image": spec.image,
        "command": ["lgos", "serve"],
        "env": _environment(model, entry),
        "ports": [
            {"name": "http", "containerPort": environment.API_PORT, "protocol": "TCP"},
            {"name": "metrics", "containerPort": environment.METRICS_PORT, "protocol": "TCP"},
        ],
        **_probes(),
        "terminationMessagePath": environment.TERMINATION_LOG,
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "runAsNonRoot": True,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "volumeMounts": [
            {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108 - the pod's own emptyDir
            {"name": "registry", "mountPath": environment.REGISTRY_DIR, "readOnly": True},
        ],
    }
    sources = [_plain(source) for source in (*defaults.env_from, *spec.env_from)]
    resources = spec.api.resources or defaults.resources
    optional: Object = {
        "imagePullPolicy": spec.image_pull_policy,
        "envFrom": sources,
        "resources": _plain(resources) if resources else None,
        "lifecycle": _lifecycle(spec.api),
    }
    return container | {field: value for field, value in optional.items() if value}


def _environment(model: LanggraphModel, entry: RegistryEntry) -> list[Object]:
    ours = {
        environment.ENV_MODEL: model.metadata.name,
        environment.ENV_NAMESPACE: entry.namespace,
        environment.ENV_REVISION: entry.revision,
        environment.ENV_DRAIN_SECONDS: str(model.spec.api.drain_seconds),
    }
    if "HOME" not in {variable.name for variable in model.spec.env}:
        ours["HOME"] = "/tmp"  # noqa: S108 - the pod's own emptyDir
    variables: list[Object] = [{"name": name, "value": value} for name, value in ours.items()]
    return variables + [_plain(variable) for variable in model.spec.env]


def _probes() -> Object:
    return {
        "startupProbe": {
            "httpGet": {"path": environment.HEALTH_PATH, "port": "http"},
            "periodSeconds": 1,
            "timeoutSeconds": 3,
            "failureThreshold": START_SECONDS,
        },
        "readinessProbe": {
            "httpGet": {"path": environment.READY_PATH, "port": "http"},
            "periodSeconds": 2,
            "timeoutSeconds": 3,
            "failureThreshold": 3,
        },
        "livenessProbe": {
            "httpGet": {"path": environment.HEALTH_PATH, "port": "http"},
            "periodSeconds": 10,
            "timeoutSeconds": 5,
            "failureThreshold": 6,
        },
    }


def _lifecycle(api: ApiComponent) -> Object | None:
    """Keep draining inside the grace period: the sleep counts towards it and must be shorter than it."""
    grace = api.termination_grace_period_seconds
    seconds = min(PRE_STOP_SECONDS, grace - api.drain_seconds, grace - 1)
    return {"preStop": {"sleep": {"seconds": seconds}}} if seconds > 0 else None


def _plain(document: Document) -> Object:
    return document.model_dump(mode="json", by_alias=True, exclude_none=True)
