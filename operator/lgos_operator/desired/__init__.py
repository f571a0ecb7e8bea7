"""Pure builders of what a LanggraphModel needs in the cluster, one kind a module.

Belongs here: functions from a manifest to Kubernetes objects, without a clock, an environment or a connection. The
same manifest gives the same objects. Used by the reconciler and by `lgos render`.
"""

from lgos_operator.desired.entry import registry_config_map, registry_entry
from lgos_operator.desired.render import render

__all__ = ["registry_config_map", "registry_entry", "render"]
