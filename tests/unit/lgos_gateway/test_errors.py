from __future__ import annotations

import json

import pytest

from lgos_gateway import errors
from lgos_gateway.errors import Refusal


def test_an_unknown_model_has_exactly_the_error_of_a_models_own_api() -> None:
    refusal = errors.model_not_found("missing")
    assert refusal.status == 404
    assert json.loads(refusal.body()) == {
        "error": {
            "message": "Graph 'missing' not found in registry.",
            "type": "invalid_request_error",
            "param": "model",
            "code": None,
        }
    }


@pytest.mark.parametrize(
    ("raw", "param", "words"),
    [
        (b"", None, "empty"),
        (b'{"model":', None, "not valid JSON"),
        (b"[1,2]", None, "must be a JSON object"),
        (b"{}", "model", "Missing required parameter: 'model'."),
        (b'{"model":null}', "model", "Missing required parameter: 'model'."),
        (b'{"model":7}', "model", "must be the name of a model"),
        (b'{"model":""}', "model", "must be the name of a model"),
        (b'{"model":"echo","zzz":NaN}', None, "not valid JSON"),
        (b'{"model":"\\ud800"}', None, "not valid JSON"),
        (b"\xff\xfe", None, "not valid JSON"),
    ],
)
def test_a_bad_body_is_refused_with_a_sentence(raw: bytes, param: str | None, words: str) -> None:
    with pytest.raises(Refusal) as caught:
        errors.parse_model(raw)
    assert caught.value.status == 400
    assert caught.value.param == param
    assert words in caught.value.message


def test_the_model_is_read_from_a_good_body() -> None:
    assert errors.parse_model(bytearray(b'{"input":"hi","model":"org/echo"}')) == "org/echo"


def test_messages_stay_short_and_are_valid_json_whatever_a_path_holds() -> None:
    refusal = errors.unknown_path("GET", "/\udcff" + "x" * 5000)
    error = json.loads(refusal.body())["error"]
    assert len(error["message"]) < 300
    assert error["code"] == "unknown_url"


def test_a_client_learns_when_to_ask_an_unavailable_model_again() -> None:
    refusal = errors.model_unavailable("echo")
    assert refusal.status == 503
    assert int(refusal.headers["Retry-After"]) > 0
