from __future__ import annotations

import json
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from langgraph_openai_serve.errors import (
    GENERIC_MESSAGE,
    ConfigurationError,
    RequestError,
    RunCancelled,
    RunError,
)
from langgraph_openai_serve.wire.errors import (
    clean,
    envelope,
    error_envelope,
    fields_of,
    param_path,
    parse,
)


@pytest.mark.parametrize(
    ("loc", "path"),
    [
        (
            ("input", "@items", 0, "@message", "content", "@parts", 1, "@input_text", "type"),
            "input[0].content[1].type",
        ),
        (("tools", 2), "tools[2]"),
        ((), ""),
        (("x" * 300,), "x" * 200),
        (("a\ud800\x00",), "a\ufffd\ufffd"),
    ],
)
def test_param_has_the_form_of_openai(loc: tuple[int | str, ...], path: str) -> None:
    assert param_path(fields_of({"loc": loc, "type": "missing"})) == path


def test_unknown_field_may_look_like_a_tag() -> None:
    problem = {"loc": ("input", "@items", 0, "@message", "@mine"), "type": "extra_forbidden"}

    assert param_path(fields_of(problem)) == "input[0].@mine"


def test_only_the_callers_own_mistakes_are_explained() -> None:
    def message(error: ConfigurationError | RequestError | RunError) -> str:
        return str(json.loads(error_envelope(error))["error"]["message"])

    assert message(RequestError("yours")) == "yours"
    assert message(RunError("secret")) == GENERIC_MESSAGE
    assert message(ConfigurationError("secret")) == GENERIC_MESSAGE
    assert "shutting down" in message(RunCancelled("secret"))


def test_message_is_short_and_clean() -> None:
    error = json.loads(envelope("\x00\ud800" + "x" * 500, type_="t"))["error"]

    assert error["message"].startswith("\ufffd\ufffdx")
    assert len(error["message"]) < 300


def test_clean_leaves_good_text_alone() -> None:
    assert clean("\u5317 \U0001f30d") == "\u5317 \U0001f30d"


class Body(BaseModel):
    value: int
    more: Any = None
    pairs: dict[Annotated[str, Field(max_length=3)], str] = {}


@pytest.mark.parametrize(
    ("raw", "message", "param"),
    [
        (b"{", "not valid JSON", None),
        (b"[]", "must be a JSON object", None),
        (b"{}", "Missing required parameter: 'value'", "value"),
        (b'{"value":"x"}', "Invalid value for 'value'", "value"),
        (b'{"value":1,"more":{"a":[NaN]}}', "NaN and Infinity are no JSON numbers", None),
        (b'{"value":1,"more":-Infinity}', "NaN and Infinity are no JSON numbers", None),
        (b'{"value":1,"pairs":{"long":"x"}}', "Invalid value for 'pairs.long'", "pairs.long"),
    ],
)
def test_complaint_names_what_is_wrong(raw: bytes, message: str, param: str | None) -> None:
    with pytest.raises(RequestError, match=message) as caught:
        parse(Body, raw)

    assert caught.value.param == param


def test_words_of_numbers_are_plain_text() -> None:
    assert parse(Body, b'{"value":1,"more":"NaN, Infinity"}').more == "NaN, Infinity"
