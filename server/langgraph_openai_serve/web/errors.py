"""From failures to HTTP answers in the OpenAI envelope."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Final, Protocol

from fastapi import FastAPI
from fastapi import HTTPException as FastAPIHTTPException
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from langgraph_openai_serve.errors import (
    Conflict,
    CoordinatorUnavailable,
    EngineUnavailable,
    IdempotencyConflict,
    LgosError,
    ModelNotFound,
    RequestError,
    RequestTooLarge,
    ResponseNotFound,
    RunCancelled,
)
from langgraph_openai_serve.wire.errors import complaint, envelope, error_envelope

Handler = Callable[[Request, Any], Any]
STATUS: Final[dict[type[LgosError], int]] = {
    ModelNotFound: 404,
    ResponseNotFound: 404,
    RequestTooLarge: 413,
    Conflict: 409,
    IdempotencyConflict: 422,
    RequestError: 400,
    RunCancelled: 503,
    CoordinatorUnavailable: 503,
    EngineUnavailable: 503,
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
    """Answer an HTTP exception in the envelope."""
    return Response(
        http_envelope(exception),
        exception.status_code,
        exception.headers,
        media_type="application/json",
    )


async def _invalid(_request: Request, error: Any) -> Response:
    # Locations of FastAPI begin with where the value was: body, query, path, header or cookie.
    problems = [
        {**problem, "loc": problem["loc"][1:], "type": _plain(problem["type"])}
        for problem in error.errors()
    ]
    return Response(error_envelope(complaint(problems)), 400, media_type="application/json")


def _plain(kind: str) -> str:
    """Return a problem's type; tags of a host's unions are not those of the API's own."""
    return "value_error" if kind == "union_tag_invalid" else kind


def handle_errors(app: FastAPI, prefix: str) -> None:
    """Answer the errors of all routes under `prefix` in the envelope, a host's own routes there too.

    Elsewhere only an `OpenAIHTTPException` is answered so; the rest is left to the application's own handlers.
    """
    app.add_exception_handler(OpenAIHTTPException, openai_exception_handler)
    known = app.exception_handlers
    plain: Handler = known[HTTPException]
    # FastAPI's own kind as well: a host that handles it would otherwise be asked first.
    for kind in (HTTPException, FastAPIHTTPException):
        app.add_exception_handler(
            kind, _under(prefix, openai_exception_handler, known.get(kind, plain))
        )
    wrong: Handler = known[RequestValidationError]
    app.add_exception_handler(RequestValidationError, _under(prefix, _invalid, wrong))


def _under(prefix: str, handler: Handler, earlier: Handler) -> Handler:
    async def handle(request: Request, error: Exception) -> Any:
        path = request.scope["path"].removeprefix(request.scope.get("root_path", ""))
        chosen = handler if path.startswith(f"{prefix}/") else earlier
        answer = chosen(request, error)
        return await answer if inspect.isawaitable(answer) else answer

    return handle
