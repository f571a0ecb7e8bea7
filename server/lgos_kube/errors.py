"""The failures of a call to the Kubernetes API server.

KubeError
├── ConnectionFailed      no answer: refused, reset, timed out
├── ConfigurationError    no usable kubeconfig or service account
└── ApiError              an answer with a `Status` object
    ├── Forbidden         403
    ├── NotFound          404
    ├── Conflict          409
    ├── Gone              410: the resourceVersion is too old, list again
    └── Invalid           422
"""

from __future__ import annotations

from typing import Any


class KubeError(Exception):
    """Anything that a call to the API server can end in besides an answer."""


class ConnectionFailed(KubeError):
    """The API server gave no answer."""


class ConfigurationError(KubeError):
    """There is no usable service account or kubeconfig."""


class ApiError(KubeError):
    """The API server answered with an error `Status`."""

    def __init__(self, code: int, status: dict[str, Any]) -> None:
        self.code = code
        self.reason: str = status.get("reason") or ""
        self.message: str = status.get("message") or f"HTTP {code}"
        self.details: dict[str, Any] = status.get("details") or {}
        super().__init__(f"{code} {self.reason}: {self.message}")

    @property
    def retry_after_seconds(self) -> float | None:
        """Seconds the API server asks to wait, when it does."""
        return self.details.get("retryAfterSeconds")


class Forbidden(ApiError):
    """The identity may not do this (also for a moment after the API server started)."""


class NotFound(ApiError):
    """The object, its namespace or its kind does not exist."""


class Conflict(ApiError):
    """The object exists already or was changed meanwhile."""


class Gone(ApiError):
    """The resourceVersion of a watch or a continue token is too old."""


class Invalid(ApiError):
    """The API server's validation refused the object."""


_BY_CODE: dict[int, type[ApiError]] = {
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    422: Invalid,
}


def api_error(code: int, status: dict[str, Any]) -> ApiError:
    """Return the error of the class that belongs to `code`."""
    return _BY_CODE.get(code, ApiError)(code, status)
