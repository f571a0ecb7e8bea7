"""The OpenAI error envelope, and pydantic's complaints in OpenAI's words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeVar

import orjson
from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from langgraph_openai_serve.errors import GENERIC_MESSAGE, LgosError, RequestError, RunError

RequestModel = TypeVar("RequestModel", bound=BaseModel)

MESSAGE_MAX: Final = 299
TAG_MARK: Final = "@"
"""Union tags of the request models start with this, so that they can be told from field names."""
DICT_KEY: Final = "[key]"
"""What pydantic appends to a location when the key and not the value is wrong."""


def envelope(
    message: str, *, type_: str, param: str | None = None, code: str | None = None
) -> bytes:
    """Return the JSON of an OpenAI error answer."""
    error = {"message": clean(message)[:MESSAGE_MAX], "type": type_, "param": param, "code": code}
    return orjson.dumps({"error": error})


def error_envelope(error: LgosError) -> bytes:
    """Return the error answer of a failure; only a request's own mistake keeps its text."""
    return envelope(public_message(error), type_=error.type, param=error.param, code=error.code)


def public_message(error: LgosError) -> str:
    """Return what a caller may read of a failure."""
    if isinstance(error, RequestError):
        return error.message
    return error.public_message if isinstance(error, RunError) else GENERIC_MESSAGE


def clean(text: str) -> str:
    """Replace what JSON text cannot carry or clients choke on: lone surrogates and U+0000."""
    if "\x00" in text:
        text = text.replace("\x00", "\ufffd")
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def parse(model: type[RequestModel], raw: bytes) -> RequestModel:
    """Validate a request body.

    Raises:
        RequestError: The body is no JSON object or breaks the model; names the first offending field.
    """
    try:
        request = model.model_validate_json(raw)
    except ValidationError as error:
        raise refused(error) from error
    if b"NaN" in raw or b"Infinity" in raw:
        _refuse_no_number(raw)
    if b"\\u0000" in raw:
        refuse_nul(from_json(raw))
    return request


def _refuse_no_number(raw: bytes) -> None:
    """Refuse what pydantic's reader takes for a number though JSON has no such word."""
    try:
        from_json(raw, allow_inf_nan=False)
    except ValueError as error:
        msg = "The request body is not valid JSON: NaN and Infinity are no JSON numbers."
        raise RequestError(msg) from error


def refuse_nul(document: Any) -> None:
    """Refuse a decoded body that holds U+0000 anywhere.

    Raises:
        RequestError: It does.
    """
    place = next(_places_of_nul(document), None)
    if place is not None:
        msg = "The request contains the character U+0000, which is not supported."
        raise RequestError(msg, param=param_path(place) or None)


def refused(error: ValidationError) -> RequestError:
    """Return the first complaint of a validation error as a refused request."""
    return complaint(error.errors(include_url=False, include_input=False, include_context=True))


def complaint(problems: Sequence[Any]) -> RequestError:
    """Return the most telling of pydantic's problems as a refused request."""
    problem = min(problems, key=_rank)
    kind = problem["type"]
    param = param_path(fields_of(problem)) or None
    if kind == "json_invalid":
        return RequestError(f"The request body is not valid JSON: {_reason(problem)}.")
    if kind in {"model_type", "dict_type", "model_attributes_type"} and param is None:
        return RequestError("The request body must be a JSON object.")
    if kind == "missing":
        return RequestError(f"Missing required parameter: '{param}'.", param=param)
    if kind == "extra_forbidden":
        return RequestError(f"Unknown parameter: '{param}'.", param=param, code="unknown_parameter")
    if kind == "unsupported_parameter":
        message = f"Unsupported parameter: '{param}' is not supported by this server."
        return RequestError(message, param=param, code="unsupported_parameter")
    if kind == "union_tag_invalid":
        return _unknown_tag(problem)
    return RequestError(
        f"Invalid value for '{param}': {clean(problem['msg'])}."[:MESSAGE_MAX], param=param
    )


def fields_of(problem: Any) -> tuple[int | str, ...]:
    """Return where a problem is in the body: its location without the tags of unions."""
    location = problem["loc"]
    fields = [part for part in location if isinstance(part, int) or not part.startswith(TAG_MARK)]
    if problem["type"] == "extra_forbidden" and fields[-1:] != [location[-1]]:
        fields.append(location[-1])  # a caller's own name that looks like a tag
    return tuple(fields)


def param_path(path: Sequence[int | str]) -> str:
    """Return a place in the body in OpenAI's form: `input[0].content[1].type`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif part != DICT_KEY:
            text += f".{part}" if text else part
    return clean(text)[:200]


def _unknown_tag(problem: Any) -> RequestError:
    """Say which `type` or `role` is not supported; the discriminator's name ends in the field that it reads."""
    context = problem["ctx"]
    field = "role" if "role" in context["discriminator"] else "type"
    param = param_path((*fields_of(problem), field))
    given = clean(str(context["tag"]))[1:81]
    expected = str(context["expected_tags"]).replace(TAG_MARK, "")
    return RequestError(
        f"Invalid value for '{param}': '{given}'. Supported values are: {expected}.", param=param
    )


def _rank(problem: Any) -> int:
    """Order complaints: a wrong `type` explains the rest, an unknown field a missing one."""
    loc = problem["loc"]
    if problem["type"] == "literal_error" and loc and loc[-1] == "type":
        return -1
    return {"extra_forbidden": 0, "unsupported_parameter": 0, "missing": 2}.get(problem["type"], 1)


def _reason(problem: Any) -> str:
    return clean(str((problem.get("ctx") or {}).get("error", "unreadable")))[:120]


def _places_of_nul(
    value: Any, place: tuple[int | str, ...] = ()
) -> Iterator[tuple[int | str, ...]]:
    """Yield where a decoded body holds U+0000; a key is told by the object that it is in."""
    if isinstance(value, str):
        if "\x00" in value:
            yield place
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _places_of_nul(key, place)
            yield from _places_of_nul(item, (*place, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _places_of_nul(item, (*place, index))
