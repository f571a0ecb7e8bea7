"""Building blocks of the request models, and the table of what is accepted without effect.

A field of OpenAI's API that LGOS does not act on is declared with the values that mean "nothing asked": `null`, and for
some fields one more value that clients always send. Any other value is refused by name, like a field nobody knows.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints
from pydantic_core import PydanticCustomError


class Strict(BaseModel):
    """Base of all request objects: unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _refuse(value: Any) -> Any:
    if value is not None:
        error = "unsupported_parameter"
        raise PydanticCustomError(error, "not supported")
    return value


Unsupported = Annotated[None, BeforeValidator(_refuse)]
"""A field of OpenAI's API that only `null` is accepted for."""

EmptyList = Annotated[list[Any], Field(max_length=0)] | None
"""A list that must be empty."""

MetadataKey = Annotated[str, StringConstraints(max_length=64)]
MetadataValue = Annotated[str, StringConstraints(max_length=512)]
Metadata = Annotated[dict[MetadataKey, MetadataValue], Field(max_length=16)]
"""OpenAI metadata: at most 16 pairs, keys up to 64 and values up to 512 characters."""

FunctionName = Annotated[
    str, StringConstraints(min_length=1, max_length=64, pattern=r"^[a-zA-Z0-9_-]+$")
]
CallId = Annotated[str, StringConstraints(min_length=1, max_length=512)]
FileId = Annotated[str, StringConstraints(min_length=1, max_length=512)]
Mode = Literal["none", "auto", "required"]


class PlainTextFormat(Strict):
    """The only supported output format."""

    type: Literal["text"]


def tag_of(value: Any, field: str) -> Any:
    """Return a field of a raw dict or of a model, for a discriminator."""
    return value.get(field) if isinstance(value, dict) else getattr(value, field, None)


def type_tag(value: Any) -> str:
    """Discriminator: the `type` of a part or tool."""
    return f"@{tag_of(value, 'type')}"


def content_tag(value: Any) -> str:
    """Discriminator: content is a string or a list of parts."""
    return "@text" if isinstance(value, str) else "@parts"


def choice_tag(value: Any) -> str:
    """Discriminator: a tool choice is a mode or names a tool."""
    return "@mode" if isinstance(value, str) else "@named"
