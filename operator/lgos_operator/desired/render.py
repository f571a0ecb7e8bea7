"""All objects of one model, in the order in which they are applied."""

from __future__ import annotations

import hashlib
import json

from lgos_contract.manifest import LanggraphModel
from lgos_operator import names
from lgos_operator.desired.deployment import api_deployment
from lgos_operator.desired.entry import registry_entry
from lgos_operator.desired.scaling import api_autoscaler, api_disruption_budget
from lgos_operator.desired.service import api_service
from lgos_operator.desired.service_account import service_account
from lgos_operator.resource import Object, Owner
from lgos_operator.settings import NO_DEFAULTS, ModelDefaults


def render(
    model: LanggraphModel, *, owner: Owner | None = None, defaults: ModelDefaults = NO_DEFAULTS
) -> list[Object]:
    """Return what the operator applies for a model.

    These are the ServiceAccount (if it needs one), the Service, the Deployment, its disruption budget and autoscaler.

    The registry ConfigMap is not among them: it belongs to all models of a namespace (see `registry_config_map`).

    Args:
        model: The manifest.
        owner: Identity of the LanggraphModel in a cluster; without it, as for a file, there is no owner reference
            and the revision is that of a model created at 0.
        defaults: What the installation adds to each model.
    """
    entry = registry_entry(model, created=owner.created if owner else 0)
    objects = [api_service(model, owner), api_deployment(model, entry, owner, defaults)]
    if not model.spec.service_account_name:
        objects.insert(0, service_account(model, owner))
    optional = (api_disruption_budget(model, owner), api_autoscaler(model, owner))
    objects += [obj for obj in optional if obj is not None]
    return [_with_hash(obj) for obj in objects]


def _with_hash(obj: Object) -> Object:
    text = json.dumps(obj, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    annotations = {**obj["metadata"].get("annotations", {}), names.APPLIED_HASH: digest}
    return {**obj, "metadata": {**obj["metadata"], "annotations": annotations}}
