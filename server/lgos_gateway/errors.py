"""What the gateway itself refuses, in OpenAI's error envelope.

Errors of a model's API are not in here: they pass through as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from math import ceil
from typing import Final

import orjson

INVALID: Final = "invalid_request_error"
MESSAGE_MAX: Final = 299
RETRY_AFTER_SECONDS: Final = "2"
"""How long a client waits before it asks an unreachable model again; a new pod needs about that."""


class Reason(StrEnum):
    """Why the gateway refused a request: the closed set of a metric's label."""

    NO_KEY = "no_key"
    WRONG_KEY = "wrong_key"
    EXPIRED_KEY = "expired_key"
    RATE = "rate"
    CONCURRENCY = "concurrency"
    MODEL = "model"
    """The model is not served, or not for this key."""
    PATH = "path"
    METHOD = "method"
    BODY = "body"
    HTTP = "http"
    TIMEOUT = "timeout"
    """The client did not send its request in time."""


class Refusal(Exception):
    """An answer in the OpenAI error envelope that the gateway gives instead of a model.

    Args:
        status: The HTTP status code.
        message: One sentence for the caller that names the next step.
        kind: OpenAI's error `type`.
        param: The offending field in OpenAI's form.
        code: The error code.
        headers: Further response headers.
        reason: Counted, where the request itself is refused.
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
        reason: Reason | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.kind = kind
        self.param = param
        self.code = code
        self.headers = dict(headers or {})
        self.reason = reason

    def body(self) -> bytes:
        """Return the JSON of the answer."""
        # A path may carry bytes that are no UTF-8; JSON cannot.
        message = self.message.encode(errors="replace").decode()[:MESSAGE_MAX]
        error = {"message": message, "type": self.kind, "param": self.param, "code": self.code}
        return orjson.dumps({"error": error})


def model_not_found(model: str) -> Refusal:
    """No model of this name is served."""
    message = f"Graph '{model[:200]}' not found in registry."
    return Refusal(404, message, param="model", reason=Reason.MODEL)


def response_not_found(response_id: str) -> Refusal:
    """No Response has this id."""
    message = f"Response '{response_id[:200]}' not found."
    return Refusal(404, message, param="response_id", reason=Reason.PATH)


def unknown_path(method: str, path: str) -> Refusal:
    """The path is not part of the API."""
    message = f"Unknown request URL: {method} {path[:200]}."
    return Refusal(404, message, code="unknown_url", reason=Reason.PATH)


def wrong_method(method: str, path: str, allowed: str) -> Refusal:
    """The path is known, the method is another one."""
    message = f"Not allowed to {method} on {path[:120]}. Use {allowed}."
    return Refusal(
        405, message, code="method_not_allowed", headers={"Allow": allowed}, reason=Reason.METHOD
    )


def body_too_large(limit_bytes: int) -> Refusal:
    """The request body is larger than the gateway takes."""
    message = f"The request body is larger than {limit_bytes} bytes."
    return Refusal(413, message, code="request_too_large", reason=Reason.BODY)


def encoded_body(encoding: str) -> Refusal:
    """The request body is compressed, so that `model` cannot be read."""
    message = f"Content-Encoding '{encoding[:40]}' is not supported: send the body as plain JSON."
    return Refusal(415, message, code="unsupported_content_encoding", reason=Reason.BODY)


def bad_http(status: int = 400) -> Refusal:
    """The request or its body breaks HTTP's rules; the connection cannot be used further."""
    message = "The request is not valid HTTP."
    return Refusal(status, message, headers={"Connection": "close"}, reason=Reason.HTTP)


def body_stalled(seconds: float) -> Refusal:
    """The client sent no more of its body."""
    return _late(f"No part of the request body came for {seconds:g} seconds.")


def headers_stalled(seconds: float) -> Refusal:
    """The client did not end the headers of its request."""
    return _late(f"The request's headers did not end within {seconds:g} seconds.")


def _late(message: str) -> Refusal:
    return Refusal(
        408,
        message,
        code="request_timeout",
        headers={"Connection": "close"},
        reason=Reason.TIMEOUT,
    )


def no_key() -> Refusal:
    """The request has no API key."""
    message = "No API key was given. Send it as 'Authorization: Bearer KEY'."
    return _unauthorized(message, Reason.NO_KEY)


def wrong_key() -> Refusal:
    """The request has a key that nobody has; its text is not repeated."""
    message = "The API key is not valid. Ask the platform's operators for one."
    return _unauthorized(message, Reason.WRONG_KEY)


def expired_key() -> Refusal:
    """The request has a key whose time is over."""
    message = "The API key has expired. Ask the platform's operators for a new one."
    return _unauthorized(message, Reason.EXPIRED_KEY)


def _unauthorized(message: str, reason: Reason) -> Refusal:
    return Refusal(
        401,
        message,
        code="invalid_api_key",
        headers={"WWW-Authenticate": "Bearer"},
        reason=reason,
    )


def too_many_requests(per_minute: int, seconds: float) -> Refusal:
    """The key's rate is used up."""
    wait = max(1, ceil(seconds))
    message = f"The API key may make {per_minute} requests a minute. Try again in {wait} s."
    return _limited(message, wait, Reason.RATE)


def too_many_open(most: int) -> Refusal:
    """The key has as many requests open as it may."""
    message = f"The API key may have {most} requests open at once. Wait for one to end."
    return _limited(message, 1, Reason.CONCURRENCY)


def _limited(message: str, wait: int, reason: Reason) -> Refusal:
    return Refusal(
        429,
        message,
        kind="requests",
        code="rate_limit_exceeded",
        headers={"Retry-After": str(wait)},
        reason=reason,
    )


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
        raise Refusal(
            400, "The request body is empty; send a JSON object with 'model'.", reason=Reason.BODY
        )
    try:
        document = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        message = f"The request body is not valid JSON: {error.msg}."
        raise Refusal(400, message, reason=Reason.BODY) from error
    if not isinstance(document, dict):
        raise Refusal(400, "The request body must be a JSON object.", reason=Reason.BODY)
    model = document.get("model")
    if model is None:
        raise Refusal(
            400, "Missing required parameter: 'model'.", param="model", reason=Reason.BODY
        )
    if not isinstance(model, str) or not model:
        message = "Invalid value for 'model': it must be the name of a model, as GET /v1/models lists them."
        raise Refusal(400, message, param="model", reason=Reason.BODY)
    return model
