"""Writes the reference of the LanggraphModel from the CRD: `python tests/contract/crd/crd_reference.py`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[3]
CRD_FILE = ROOT / "crds" / "langgraphmodels.lgos.dev.yaml"
PAGE = ROOT / "docs" / "reference" / "crd.md"
HEAD = """# LanggraphModel

Written by a script from `crds/langgraphmodels.lgos.dev.yaml`. API version `lgos.dev/v1alpha1`, short name `lgm`.
"""


def page() -> str:
    """Return the text of the page."""
    [version] = yaml.safe_load(CRD_FILE.read_text())["spec"]["versions"]
    schema = version["schema"]["openAPIV3Schema"]["properties"]
    parts = [HEAD]
    for name in ("spec", "status"):
        lines = ["| field | type | allowed | meaning |", "| --- | --- | --- | --- |"]
        lines += rows(schema[name], name)
        parts.append(f"## {name}\n\n" + "\n".join(lines) + "\n")
    rules = [rule["message"] for rule in found_rules(version["schema"]["openAPIV3Schema"])]
    parts.append("## Rules\n\n" + "\n".join(f"- {rule}" for rule in rules) + "\n")
    return "\n".join(parts)


def rows(node: dict[str, Any], path: str) -> Iterator[str]:
    """Yield one row for each property below `node`."""
    required = set(node.get("required", ()))
    for name, below in node.get("properties", {}).items():
        at = f"{path}.{name}"
        kind = below["type"] + (f" of {below['items']['type']}" if "items" in below else "")
        mark = ", required" if name in required and path == "spec" else ""
        text = below["description"].replace("|", "\\|")
        yield f"| `{at}` | {kind}{mark} | {allowed(below)} | {text} |"
        yield from rows(below, at)
        if "items" in below:
            yield from rows(below["items"], f"{at}[]")


def allowed(node: dict[str, Any]) -> str:
    """Return the bounds of a value."""
    parts = []
    if "enum" in node:
        parts.append(", ".join(f"`{value}`" for value in node["enum"]))
    if "minimum" in node:
        parts.append(f"{node['minimum']} to {node['maximum']}")
    limits = {"maxLength": "characters", "maxItems": "items", "maxProperties": "keys"}
    parts += [f"up to {node[limit]} {unit}" for limit, unit in limits.items() if limit in node]
    if isinstance(node.get("default"), int):
        parts.append(f"default {str(node['default']).lower()}")
    return "; ".join(parts) or "any"


def found_rules(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the CEL rules of a schema and of everything below."""
    yield from node.get("x-kubernetes-validations", ())
    for below in node.get("properties", {}).values():
        yield from found_rules(below)


if __name__ == "__main__":
    PAGE.write_text(page())
