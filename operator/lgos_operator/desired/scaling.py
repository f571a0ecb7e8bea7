"""The HorizontalPodAutoscaler and the PodDisruptionBudget of a model's API, where the manifest asks for them."""

from __future__ import annotations

from lgos_contract.manifest import LanggraphModel
from lgos_operator import names
from lgos_operator.desired.metadata import metadata
from lgos_operator.resource import Object, Owner


def api_autoscaler(model: LanggraphModel, owner: Owner | None) -> Object | None:
    """Return the autoscaler; none for a fixed number of pods or a suspended model.

    It targets the Deployment, so that scaling goes on while the operator is down.
    """
    scaling, name = model.spec.api.autoscaling, names.api_name(model.metadata.name)
    if scaling is None or model.spec.suspend:
        return None
    target = {"type": "Utilization", "averageUtilization": scaling.target_cpu_utilization}
    spec: Object = {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
        "minReplicas": scaling.min_replicas,
        "maxReplicas": scaling.max_replicas,
        "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": target}}],
    }
    if scaling.behavior is not None:
        spec["behavior"] = scaling.behavior.model_dump(mode="json")
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": metadata(model, name, owner),
        "spec": spec,
    }


def api_disruption_budget(model: LanggraphModel, owner: Owner | None) -> Object | None:
    """Return the budget; none where a single pod is enough, because it would only block the drain of a node."""
    budget, api = model.spec.api.pod_disruption_budget, model.spec.api
    if not budget.enabled or api.least_replicas < 2 or model.spec.suspend:
        return None
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata(model, names.api_name(model.metadata.name), owner),
        "spec": {
            "maxUnavailable": budget.max_unavailable,
            "selector": {"matchLabels": names.selector(model.metadata.name)},
        },
    }
