"""Every failure that LGOS itself raises, and what it becomes on the wire.

LgosError
├── ConfigurationError         a graph, a registry or a setting is wrong; raised at start, never for a request
├── RequestError               the caller's mistake: 400, `invalid_request_error`, keeps its message
│   ├── ModelNotFound          404, param `model`
│   ├── ResponseNotFound       404, param `response_id`
│   └── RequestTooLarge        413
└── RunError                   the run failed: `server_error`, generic message outside, cause in the log
    └── RunCancelled           the server stopped before the run ended

`web/errors.py` has the one table from these classes to HTTP status codes.
"""

from __future__ import annotations

from typing import ClassVar, Final

GENERIC_MESSAGE: Final = "The graph failed while it processed the request."
SHUTDOWN_MESSAGE: Final = "The server is shutting down and ended the run; send the request again."


class LgosError(Exception):
    """Base of all failures of LGOS; has the fields of an OpenAI error object."""

    type: ClassVar[str] = "server_error"
    code: str | None = None
    param: str | None = None

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class ConfigurationError(LgosError):
    """A graph, a registry or a setting is wrong; the message is one sentence that names the fix."""


class RequestError(LgosError):
    """The request is wrong; its message reaches the caller unchanged.

    Args:
        message: One sentence, under 300 characters.
        param: The field in OpenAI's form, such as `input[0].content[1].type`.
        code: An OpenAI or LGOS error code, when there is one.
    """

    type = "invalid_request_error"

    def __init__(self, message: str, *, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.param = param
        self.code = code


class ModelNotFound(RequestError):
    """No graph is registered under the requested model."""

    def __init__(self, model: str) -> None:
        super().__init__(f"Graph '{model}' not found in registry.", param="model")


class ResponseNotFound(RequestError):
    """No Response has this id: unknown, malformed and somebody else's ids look the same."""

    def __init__(self, response_id: str) -> None:
        super().__init__(f"Response '{response_id}' not found.", param="response_id")


class RequestTooLarge(RequestError):
    """The request body is larger than the server takes."""

    def __init__(self, limit_bytes: int) -> None:
        super().__init__(
            f"The request body is larger than {limit_bytes} bytes.", code="request_too_large"
        )


class RunError(LgosError):
    """A run failed. The message is for the log; callers get `GENERIC_MESSAGE`."""

    public_message: ClassVar[str] = GENERIC_MESSAGE


class RunCancelled(RunError):
    """The server stopped before the run ended; nobody asked for that, so it can be tried again."""

    public_message = SHUTDOWN_MESSAGE
