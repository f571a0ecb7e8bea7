"""Every failure that LGOS itself raises, and what it becomes on the wire.

LgosError
├── ConfigurationError         a graph, a registry or a setting is wrong; raised at start, never for a request
├── RequestError               the caller's mistake: 400, `invalid_request_error`, keeps its message
│   ├── ModelNotFound          404, param `model`
│   ├── ResponseNotFound       404, param `response_id`
│   ├── RequestTooLarge        413
│   ├── IdempotencyConflict    422: the key was used for another request
│   └── Conflict               409
│       ├── RunBusy            code `run_busy`: another request works on the operation
│       └── InterruptConflict  code `interrupt_state_conflict`: what is answered is not what is pending
└── RunError                   the run failed: `server_error`, generic message outside, cause in the log
    ├── RunCancelled           the server stopped before the run ended
    ├── LeaseLost              the run could no longer be sure to be the only one
    ├── InterruptRefused       the graph interrupted in a way that cannot be answered safely
    ├── CoordinatorUnavailable 503: nobody can say whether another run is at work
    └── EngineUnavailable      503: the background engine takes no jobs at the moment

`web/errors.py` has the one table from these classes to HTTP status codes.
"""

from __future__ import annotations

from typing import ClassVar, Final

GENERIC_MESSAGE: Final = "The graph failed while it processed the request."
SHUTDOWN_MESSAGE: Final = "The server is shutting down and ended the run; send the request again."

LEASE_MESSAGE: Final = "The run was ended because it could not keep its run lease; ask again."
UNAVAILABLE_MESSAGE: Final = "Runs cannot be coordinated at the moment; nothing ran. Try again."

ENGINE_MESSAGE: Final = (
    "Background runs are not available at the moment; nothing was started. Try again."
)


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


class IdempotencyConflict(RequestError):
    """The idempotency key started a run of another request."""

    def __init__(self) -> None:
        super().__init__(
            "This Idempotency-Key was used for a different request; use a new key for a new request.",
            param="Idempotency-Key",
            code="idempotency_key_reused",
        )


class Conflict(RequestError):
    """The request does not fit the state that the operation is in."""


class RunBusy(Conflict):
    """Another request works on the same operation."""

    def __init__(self) -> None:
        super().__init__(
            "Another request is working on this run; wait for its answer.", code="run_busy"
        )


class InterruptConflict(Conflict):
    """The answers belong to a batch that is not pending: stale, altered or answered before."""

    def __init__(self) -> None:
        super().__init__(
            "These answers do not match what the run is waiting for now: it was answered or ended before.",
            param="previous_response_id",
            code="interrupt_state_conflict",
        )


class RunError(LgosError):
    """A run failed. The message is for the log; callers get `GENERIC_MESSAGE`."""

    public_message: str = GENERIC_MESSAGE


class RunCancelled(RunError):
    """The server stopped before the run ended; nobody asked for that, so it can be tried again."""

    public_message = SHUTDOWN_MESSAGE


class LeaseLost(RunError):
    """The run's lease was lost or not renewed in time; another process may have taken the operation over."""

    public_message = LEASE_MESSAGE

    def __init__(self, key: str) -> None:
        super().__init__(f"the run lease was lost: key={key[:12]}")


class InterruptRefused(RunError):
    """The graph interrupted in a way that cannot be shown or answered safely; nothing is pending.

    Args:
        message: One sentence for the graph's author and for the caller; holds no data of the graph.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.public_message = message


class CoordinatorUnavailable(RunError):
    """The coordinator's store cannot be reached; nothing ran."""

    public_message = UNAVAILABLE_MESSAGE


class EngineUnavailable(RunError):
    """The background engine cannot be reached, or nobody would run the job; nothing was accepted.

    Args:
        message: For the log.
        public_message: For the caller, where there is more to say than that it may try again.
    """

    public_message = ENGINE_MESSAGE

    def __init__(self, message: str, *, public_message: str = ENGINE_MESSAGE) -> None:
        super().__init__(message)
        self.public_message = public_message
