"""From failures to HTTP answers in the OpenAI envelope."""

from __future__ import annotations

from typing import Any, Final, Protocol

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from langgraph_openai_serve.errors import (
    LgosError,
    ModelNotFound,
    RequestError,
    RequestTooLarge,
    ResponseNotFound,
    RunCancelled,
)
from langgraph_openai_serve.wire.errors import envelope

STATUS: Final[dict[type[LgosError], int]] = {
    ModelNotFound: 404,
    ResponseNotFound: 404,
    RequestTooLarge: 413,
    RequestError: 400,
    RunCancelled: 503,
    LgosError: 500,
}


def status_of(error: LgosError) -> int:
    """Return the HTTP status of a failure: the one of its nearest class in `STATUS`."""
    return next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)


class ErrorFields(Protocol):
    """The fields of `openai.types.shared.ErrorObject`; any object that has them will do."""

    @property
    def message(self) -> str:
        """One sentence for the caller."""

    @property
    def type(self) -> str:
        """OpenAI's error type."""

    @property
    def param(self) -> str | None:
        """The offending field."""

    @property
    def code(self) -> str | None:
        """The error code."""


class OpenAIHTTPException(HTTPException):
    """Raised by route code that knows OpenAI's error metadata; answered in the OpenAI envelope."""

    def __init__(
        self, status_code: int, error: ErrorFields, headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(status_code, detail=error.message, headers=headers)
        self.error = error


def http_envelope(exception: HTTPException) -> bytes:
    """Return the error answer of an HTTP exception, whether or not it knows OpenAI's metadata."""
    if isinstance(exception, OpenAIHTTPException):
        error = exception.error
        return envelope(error.message, type_=error.type, param=error.param, code=error.code)
    kind = "server_error" if exception.status_code >= 500 else "invalid_request_error"
    return envelope(str(exception.detail), type_=kind)


async def openai_exception_handler(_request: Request, exception: Any) -> Response:
    """Answer an `OpenAIHTTPException`."""
    return Response(
        http_envelope(exception),
        exception.status_code,
        exception.headers,
        media_type="application/json",
    )
