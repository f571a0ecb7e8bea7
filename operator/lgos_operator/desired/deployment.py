"""The Deployment of a model's API. A rollout starts the new pod before it stops an old one."""

from __future__ import annotations

from lgos_contract.manifest import LanggraphModel
from lgos_contract.registry import RegistryEntry
from lgos_operator import names
from lgos_operator.desired.metadata import metadata
from lgos_operator.desired.overlay import overlaid
from lgos_operator.desired.pod import pod_template
from lgos_operator.resource import Object, Owner
from lgos_operator.settings import ModelDefaults


def api_deployment(
    model: LanggraphModel, entry: RegistryEntry, owner: Owner | None, defaults: ModelDefaults
) -> Object:
    """Return the Deployment of a model's API; without `replicas` where an autoscaler decides it.

    Args:
        model: The manifest.
        entry: The model's registry entry; its revision goes into the pod template.
        owner: Identity of the LanggraphModel.
        defaults: What the installation adds.
    """
    name = model.metadata.name
    deployment: Object = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(model, names.api_name(name), owner),
        "spec": {
            "revisionHistoryLimit": 3,
            "progressDeadlineSeconds": 600,
            "strategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0},
            },
            "selector": {"matchLabels": names.selector(name)},
            "template": overlaid(pod_template(model, entry, defaults), model.spec.pod_template),
        },
    }
    if model.spec.suspend:
        deployment["spec"]["replicas"] = 0
    elif model.spec.api.autoscaling is None:
        deployment["spec"]["replicas"] = model.spec.api.least_replicas
    return deployment
