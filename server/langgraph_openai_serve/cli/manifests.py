"""Reads LanggraphModel manifests from files and folders; every mistake names file, document and field."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from langgraph_openai_serve.errors import ConfigurationError
from lgos_contract.manifest import (
    API_VERSION,
    GROUP,
    KIND,
    ApiComponent,
    LanggraphModel,
    LanggraphModelSpec,
)

SUFFIXES: Final = (".yaml", ".yml")
FIELDS: Final = sorted(
    {
        field.alias or name
        for kind in (LanggraphModelSpec, ApiComponent)
        for name, field in kind.model_fields.items()
    }
)
PATTERN_HINTS: Final = {
    "graph": "write it as package.module:attribute",
    "image": "it must have no spaces",
    "name": "use lower-case letters, digits and '-', beginning with a letter, at most 52 characters",
    "modelName": "use letters, digits and . _ : / -, beginning with a letter or digit",
}


class _Loader(yaml.SafeLoader):
    """Loads what JSON can say: a date stays text, as it does in the Kubernetes API."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in rules if tag != "tag:yaml.org,2002:timestamp"]
    for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


@dataclass(frozen=True, slots=True)
class Manifest:
    """One LanggraphModel and where it was read."""

    model: LanggraphModel
    path: Path
    place: str
    """File and document, for people."""


@dataclass(frozen=True, slots=True)
class Manifests:
    """What some files hold."""

    models: tuple[Manifest, ...]
    notes: tuple[str, ...]
    """One sentence for each document that is no LanggraphModel."""


def read_manifests(paths: Iterable[Path]) -> Manifests:
    """Read all LanggraphModels of files and folders (not of folders inside them).

    Raises:
        ConfigurationError: A file cannot be read, a manifest is invalid, a name is used twice, or there is no model.
    """
    given = list(paths)
    models: list[Manifest] = []
    notes: list[str] = []
    for path in manifest_files(given):
        for place, document in _documents(path):
            kind = _foreign_kind(document)
            if kind is None:
                models.append(Manifest(_parsed(document, place), path, place))
            else:
                notes.append(f"skipped: {kind} ({place}) is no {KIND}")
    if not models:
        where = ", ".join(map(str, given))
        msg = f"there is no {KIND} in {where}; a manifest has `apiVersion: {API_VERSION}` and `kind: {KIND}`"
        raise ConfigurationError(msg)
    _refuse_duplicates(models)
    return Manifests(tuple(models), tuple(notes))


def manifest_files(paths: Iterable[Path]) -> list[Path]:
    """Return the files among `paths` and those in the folders among them, each once.

    Raises:
        ConfigurationError: A path does not exist.
    """
    files: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            inside = sorted(p for p in path.iterdir() if p.suffix in SUFFIXES and p.is_file())
            files.update(dict.fromkeys(inside))
        elif path.exists():
            files[path] = None
        else:
            msg = f"there is no file or folder '{path}' (seen from {Path.cwd()}); correct the argument of -f"
            raise ConfigurationError(msg)
    return list(files)


def _documents(path: Path) -> Iterator[tuple[str, Any]]:
    try:
        documents = list(yaml.load_all(path.read_text(), _Loader))
    except (OSError, UnicodeDecodeError) as error:
        msg = f"{path} cannot be read: {error}"
        raise ConfigurationError(msg) from error
    except yaml.YAMLError as error:
        msg = f"{path} is not valid YAML: {_yaml_problem(error)}"
        raise ConfigurationError(msg) from error
    for number, document in enumerate(documents, start=1):
        place = f"{path}, document {number}" if len(documents) > 1 else str(path)
        if document is not None:
            yield place, document


def _yaml_problem(error: yaml.YAMLError) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        return f"line {error.problem_mark.line + 1}: {error.problem or error.context}"
    return str(error).partition("\n")[0]


def _foreign_kind(document: Any) -> str | None:
    """Return what a document is when it is some other Kubernetes object, else `None`."""
    if not isinstance(document, dict):
        return None
    group = str(document.get("apiVersion", "")).partition("/")[0]
    kind = document.get("kind")
    if kind in {None, KIND} and group in {"", GROUP}:
        return None
    metadata = document.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return f"{kind or 'an object'} {name}" if name else str(kind or "an object")


def _parsed(document: Any, place: str) -> LanggraphModel:
    if not isinstance(document, dict):
        msg = f"{place}: a manifest is a mapping with apiVersion, kind, metadata and spec"
        raise ConfigurationError(msg)
    try:
        return LanggraphModel.model_validate(document)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_context=False)
        raise ConfigurationError("\n".join(_problem(place, item) for item in problems)) from error


def _problem(place: str, item: ErrorDetails) -> str:
    """Return one problem as `file, document: field: what is wrong`."""
    field = ".".join(str(part) for part in item["loc"])
    last = str(item["loc"][-1]) if item["loc"] else ""
    match item["type"]:
        case "extra_forbidden":
            close = difflib.get_close_matches(last, FIELDS, n=1)
            hint = f"; did you mean '{close[0]}'?" if close else ""
            return f"{place}: {field}: there is no such field{hint}"
        case "missing":
            return f"{place}: {field}: this field is required"
        case "string_pattern_mismatch" if last in PATTERN_HINTS:
            return f"{place}: {field}: '{item['input']}' is not valid; {PATTERN_HINTS[last]}"
        case "value_error":
            return f"{place}: {field}: {item['msg'].removeprefix('Value error, ')}"
        case _:
            message = item["msg"]
            return f"{place}: {field}: {message[:1].lower()}{message[1:]}"


def _refuse_duplicates(models: list[Manifest]) -> None:
    seen: dict[str, Manifest] = {}
    for manifest in models:
        other = seen.setdefault(manifest.model.model_id, manifest)
        if other is not manifest:
            msg = (
                f"the model '{manifest.model.model_id}' is in {other.place} and in {manifest.place};"
                " give one of them another metadata.name or spec.modelName"
            )
            raise ConfigurationError(msg)
