"""A LanggraphModel as the API server holds it, read into typed values."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from lgos_contract.manifest import FORBIDDEN_OVERRIDE, LanggraphModel
from lgos_operator.names import PAUSED

Object = dict[str, Any]
Key = tuple[str, str]
"""Namespace and name of a LanggraphModel."""

_MESSAGE_MAX = 600


class InvalidSpecError(Exception):
    """The manifest is not one that this version of LGOS can serve; the message is for the user."""

    def __init__(self, message: str, *, is_override: bool = False) -> None:
        super().__init__(message)
        self.is_override = is_override
        """Whether `spec.podTemplate` asks for what the platform cannot allow."""


@dataclass(frozen=True, slots=True)
class Owner:
    """What the API server knows of a LanggraphModel besides its manifest."""

    uid: str
    created: int
    """Unix seconds of `metadata.creationTimestamp`."""


@dataclass(frozen=True, slots=True)
class Model:
    """One accepted LanggraphModel."""

    manifest: LanggraphModel
    owner: Owner
    generation: int


def read_model(obj: Object) -> Model:
    """Read an object of the API server.

    Raises:
        InvalidSpecError: The CRD let it pass, but the manifest models refuse it.
    """
    try:
        manifest = LanggraphModel.model_validate(obj)
    except ValidationError as error:
        kinds = {found["type"] for found in error.errors(include_url=False, include_input=False)}
        is_override = kinds == {FORBIDDEN_OVERRIDE}
        raise InvalidSpecError(_sentence(error), is_override=is_override) from error
    return Model(manifest, owner_of(obj), generation_of(obj))


def owner_of(obj: Object) -> Owner:
    """Return the identity of an object."""
    metadata = obj["metadata"]
    created = datetime.fromisoformat(metadata["creationTimestamp"])
    return Owner(metadata["uid"], int(created.timestamp()))


def generation_of(obj: Object) -> int:
    """Return `metadata.generation`: it counts changes of the spec."""
    return int(obj["metadata"].get("generation") or 0)


def model_id_of(obj: Object) -> str:
    """Return the public name that an object claims, whether or not its spec is valid."""
    spec = obj.get("spec") or {}
    return str(spec.get("modelName") or obj["metadata"]["name"])


def is_deleting(obj: Object) -> bool:
    """Whether the API server has been asked to delete the object."""
    return bool(obj["metadata"].get("deletionTimestamp"))


def is_paused(obj: Object) -> bool:
    """Whether the operator is asked to leave the model alone."""
    return (obj["metadata"].get("annotations") or {}).get(PAUSED) == "true"


def _sentence(error: ValidationError) -> str:
    parts = []
    for found in error.errors(include_url=False, include_input=False, include_context=False):
        place = ".".join(str(part) for part in found["loc"])
        parts.append(f"{place}: {found['msg'].removeprefix('Value error, ')}")
    return f"{'; '.join(parts)[:_MESSAGE_MAX]}. Correct the manifest and apply it again."
