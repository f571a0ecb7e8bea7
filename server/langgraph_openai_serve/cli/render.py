"""`lgos render`: what the operator would apply for manifests, as YAML documents."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import yaml

from langgraph_openai_serve.cli.manifests import read_manifests
from lgos_contract.registry import dump_entry, registry_key
from lgos_operator.desired import registry_config_map, registry_entry, render


def render_files(paths: Iterable[Path]) -> tuple[str, tuple[str, ...]]:
    """Render the objects of every model, and the registry ConfigMap of each namespace.

    Returns:
        The YAML text, and a note for each document that is no LanggraphModel.

    Raises:
        ConfigurationError: A manifest cannot be used.
    """
    manifests = read_manifests(paths)
    objects = []
    registries: dict[str, dict[str, str]] = defaultdict(dict)
    for manifest in manifests.models:
        objects += render(manifest.model)
        entry = registry_entry(manifest.model)
        registries[entry.namespace][registry_key(entry.name)] = dump_entry(entry)
    objects += [registry_config_map(name, data) for name, data in registries.items()]
    return yaml.safe_dump_all(objects, sort_keys=False, width=120), manifests.notes
