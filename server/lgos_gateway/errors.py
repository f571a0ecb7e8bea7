"""What the gateway itself refuses, in OpenAI's error envelope.

Errors of a model's API are not in here: they pass through as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import orjson

INVALID: Final = "invalid_request_error"
MESSAGE_MAX: Final = 299
RETRY_AFTER_SECONDS: Final = "2"
"""How long a client waits before it asks an unreachable model again; a new pod needs about that."""


class Refusal(Exception):
    """An answer in the OpenAI error envelope that the gateway gives instead of a model.

    Args:
        status: The HTTP status code.
        message: One sentence for the caller that names the next step.
        kind: OpenAI's error `type`.
        param: The offending field in OpenAI's form.
        code: The error code.
        headers: Further response headers.
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        kind: str = INVALID,
        param: str | None = None,
        code: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.kind = kind
        self.param = param
        self.code = code
        self.headers = dict(headers or {})

    def body(self) -> bytes:
        """Return the JSON of the answer."""
        # A path may carry bytes that are no UTF-8; JSON cannot.
        message = self.message.encode(errors="replace").decode()[:MESSAGE_MAX]
        error = {"message": message, "type": self.kind, "param": self.param, "code": self.code}
        return orjson.dumps({"error": error})


def model_not_found(model: str) -> Refusal:
    """No model of this name is served."""
    return Refusal(404, f"Graph '{model[:200]}' not found in registry.", param="model")


def response_not_found(response_id: str) -> Refusal:
    """No Response has this id."""
    return Refusal(404, f"Response '{response_id[:200]}' not found.", param="response_id")


def unknown_path(method: str, path: str) -> Refusal:
    """The path is not part of the API."""
    return Refusal(404, f"Unknown request URL: {method} {path[:200]}.", code="unknown_url")


def wrong_method(method: str, path: str, allowed: str) -> Refusal:
    """The path is known, the method is another one."""
    message = f"Not allowed to {method} on {path[:120]}. Use {allowed}."
    return Refusal(405, message, code="method_not_allowed", headers={"Allow": allowed})


def body_too_large(limit_bytes: int) -> Refusal:
    """The request body is larger than the gateway takes."""
    message = f"The request body is larger than {limit_bytes} bytes."
    return Refusal(413, message, code="request_too_large")


def encoded_body(encoding: str) -> Refusal:
    """The request body is compressed, so that `model` cannot be read."""
    message = f"Content-Encoding '{encoding[:40]}' is not supported: send the body as plain JSON."
    return Refusal(415, message, code="unsupported_content_encoding")


def bad_http(status: int = 400) -> Refusal:
    """The request or its body breaks HTTP's rules; the connection cannot be used further."""
    return Refusal(status, "The request is not valid HTTP.", headers={"Connection": "close"})


def body_stalled(seconds: float) -> Refusal:
    """The client sent no more of its body."""
    message = f"No part of the request body came for {seconds:g} seconds."
    return Refusal(408, message, code="request_timeout", headers={"Connection": "close"})


def model_unavailable(model: str) -> Refusal:
    """No pod of the model takes a connection."""
    return Refusal(
        503,
        f"The model '{model}' is not available at the moment. Try again in a few seconds.",
        kind="server_error",
        code="model_unavailable",
        headers={"Retry-After": RETRY_AFTER_SECONDS},
    )


def model_broke_off(model: str) -> Refusal:
    """The model's API took the request and ended the connection without an answer."""
    return Refusal(
        502,
        f"The model '{model}' closed the connection before it answered.",
        kind="server_error",
        code="model_connection_lost",
    )


def model_silent(model: str, seconds: float) -> Refusal:
    """The model's API took the request and sent nothing for longer than the gateway waits."""
    return Refusal(
        504,
        f"The model '{model}' sent nothing for {seconds:.0f} seconds. Ask for a stream for long runs.",
        kind="server_error",
        code="model_timeout",
    )


def gateway_failed() -> Refusal:
    """A defect of the gateway; the log has the traceback."""
    message = "The gateway failed while it passed the request on."
    return Refusal(500, message, kind="server_error")


def parse_model(raw: bytes | bytearray) -> str:
    """Return `model` of a request body.

    Raises:
        Refusal: The body is no JSON object, or `model` is missing or no text.
    """
    if not raw:
        raise Refusal(400, "The request body is empty; send a JSON object with 'model'.")
    try:
        document = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        message = f"The request body is not valid JSON: {error.msg}."
        raise Refusal(400, message) from error
    if not isinstance(document, dict):
        raise Refusal(400, "The request body must be a JSON object.")
    model = document.get("model")
    if model is None:
        raise Refusal(400, "Missing required parameter: 'model'.", param="model")
    if not isinstance(model, str) or not model:
        message = "Invalid value for 'model': it must be the name of a model, as GET /v1/models lists them."
        raise Refusal(400, message, param="model")
    return model
