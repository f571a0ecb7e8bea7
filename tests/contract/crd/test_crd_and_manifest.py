"""The CRD and the manifest models say the same, field by field, in both directions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from lgos_contract import manifest as contract
from lgos_operator.status import ConditionStatus, ConditionType

CRD_FILE = Path(__file__).parents[3] / "crds" / "langgraphmodels.lgos.dev.yaml"
CRD = yaml.safe_load(CRD_FILE.read_text())
[VERSION] = CRD["spec"]["versions"]
SCHEMA = VERSION["schema"]["openAPIV3Schema"]
MODELS = contract.LanggraphModelSpec.model_json_schema(by_alias=True)
KEYWORDS = {
    "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties",
    "pattern", "enum",
}  # fmt: skip


def resolve(node: dict[str, Any]) -> dict[str, Any]:
    """Follow references and drop the `null` that stands for an absent field."""
    while True:
        if "$ref" in node:
            found = MODELS["$defs"][node["$ref"].rpartition("/")[2]]
            node = found | {key: value for key, value in node.items() if key != "$ref"}
        elif "allOf" in node:
            [only] = node["allOf"]
            node = only | {key: value for key, value in node.items() if key != "allOf"}
        elif "anyOf" in node:
            [only] = [option for option in node["anyOf"] if option.get("type") != "null"]
            node = only | {key: value for key, value in node.items() if key != "anyOf"}
        else:
            return node


def facts(node: dict[str, Any]) -> dict[str, Any]:
    """Return what a schema demands of a value, apart from what is below it."""
    found = {key: node[key] for key in KEYWORDS if key in node} | {"type": node["type"]}
    if "enum" in found:
        found["enum"] = sorted(found["enum"])
    if isinstance(node.get("default"), int):
        found["default"] = node["default"]
    found["required"] = sorted(node.get("required", []))
    return found


def differences(crd: dict[str, Any], model: dict[str, Any], path: str) -> list[str]:
    """Compare a schema of the CRD with one of pydantic's, and everything below."""
    model = resolve(model)
    found = []
    if facts(crd) != facts(model):
        found.append(f"{path}: {facts(crd)} is not {facts(model)}")
    values = crd.get("additionalProperties")
    is_open = bool(crd.get("x-kubernetes-preserve-unknown-fields") or values)
    if crd["type"] == "object" and is_open != bool(model.get("additionalProperties", False)):
        found.append(f"{path}: unknown fields are allowed on one side only")
    ours, theirs = crd.get("properties", {}), model.get("properties", {})
    found += [f"{path}.{name}: on one side only" for name in sorted(ours.keys() ^ theirs.keys())]
    for name in sorted(ours.keys() & theirs.keys()):
        found += differences(ours[name], theirs[name], f"{path}.{name}")
    if values:
        found += differences(values, model["additionalProperties"], f"{path}{{}}")
    if crd["type"] == "array":
        found += differences(crd["items"], model["items"], f"{path}[]")
    return found


def test_spec_is_the_same_in_both() -> None:
    assert differences(SCHEMA["properties"]["spec"], MODELS, "spec") == []


@pytest.mark.parametrize(
    ("path", "keyword", "value"),
    [
        (("image",), "maxLength", 511),
        (("graph",), "pattern", "^x$"),
        (("imagePullPolicy",), "enum", ["Always"]),
        (("api", "replicas"), "default", 2),
        (("exposure", "register"), "default", False),
        (("api", "drainSeconds"), "maximum", 1),
        (("features", "items"), "enum", ["other"]),
        (("settings",), "x-kubernetes-preserve-unknown-fields", False),
    ],
)
def test_the_comparison_finds_a_planted_difference(
    path: tuple[str, ...], keyword: str, value: Any
) -> None:
    spec = yaml.safe_load(CRD_FILE.read_text())["spec"]["versions"][0]["schema"]["openAPIV3Schema"][
        "properties"
    ]["spec"]
    node = spec
    for name in path:
        node = node["properties"][name] if name in node.get("properties", {}) else node[name]
    node[keyword] = value
    assert differences(spec, MODELS, "spec")


def test_group_version_and_names_are_the_contract_s() -> None:
    assert CRD["spec"]["group"] == contract.GROUP
    assert VERSION["name"] == contract.VERSION
    assert CRD["spec"]["names"]["kind"] == contract.KIND
    assert CRD["spec"]["names"]["plural"] == contract.PLURAL
    assert CRD["metadata"]["name"] == f"{contract.PLURAL}.{contract.GROUP}"
    [name_rule] = SCHEMA["x-kubernetes-validations"]
    assert contract.RESOURCE_NAME_PATTERN in name_rule["rule"]
    assert f"<= {contract.RESOURCE_NAME_MAX}" in name_rule["rule"]


def test_plain_kubectl_apply_can_hold_the_crd() -> None:
    assert len(CRD_FILE.read_bytes()) < 64 * 1024


def described(node: dict[str, Any], path: str) -> list[str]:
    """Return the paths of properties without a description."""
    found = [] if node.get("description") else [path]
    for name, below in node.get("properties", {}).items():
        found += described(below, f"{path}.{name}")
    return found + (described(node["items"], f"{path}[]") if "items" in node else [])


def test_every_property_is_described() -> None:
    bare = [path for name, node in SCHEMA["properties"].items() for path in described(node, name)]
    assert [path for path in bare if path != "metadata"] == [], "Kubernetes describes metadata"


def test_every_list_and_string_is_bounded() -> None:
    def unbounded(node: dict[str, Any], path: str) -> list[str]:
        found = []
        if node["type"] == "string" and not {"maxLength", "enum"} & node.keys():
            found.append(path)
        if node["type"] == "array" and "maxItems" not in node:
            found.append(path)
        for name, below in node.get("properties", {}).items():
            found += unbounded(below, f"{path}.{name}")
        return found + (unbounded(node["items"], f"{path}[]") if "items" in node else [])

    assert unbounded(SCHEMA["properties"]["spec"], "spec") == []


def test_columns_read_what_the_operator_writes() -> None:
    columns = {column["name"]: column["jsonPath"] for column in VERSION["additionalPrinterColumns"]}
    assert list(columns) == ["Model", "Ready", "Reason", "API", "Age", "Image", "URL", "Message"]
    for name, field in {"Ready": "status", "Reason": "reason", "Message": "message"}.items():
        assert columns[name] == f'.status.conditions[?(@.type=="{ConditionType.READY}")].{field}'
    status = SCHEMA["properties"]["status"]["properties"]
    assert columns["Model"] == ".status.modelName"
    assert columns["API"] == ".status.api.summary"
    assert columns["URL"] == ".status.endpoint"
    assert {"modelName", "endpoint"} <= status.keys()
    assert "summary" in status["api"]["properties"]
    conditions = status["conditions"]["items"]["properties"]
    assert sorted(conditions["status"]["enum"]) == sorted(ConditionStatus)
