"""Which headers pass through the gateway, in both directions."""

from __future__ import annotations

import re
from typing import Final
from uuid import uuid4

from multidict import CIMultiDict, CIMultiDictProxy

from lgos_contract.scope import SCOPE_HEADER

REQUEST_ID: Final = "X-Request-Id"
SERVER: Final = "lgos-gateway"
"""Value of the `Server` header, so that no answer names versions."""
_USABLE_ID: Final = re.compile(r"[!-~]{1,128}")
_HOP_BY_HOP: Final = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_REQUEST_DROPPED: Final = _HOP_BY_HOP | {
    "host",
    "content-length",
    "expect",
    "x-request-id",
    SCOPE_HEADER.lower(),
}
"""A scope that a client sends is never passed on."""
_WITHOUT_KEY: Final = _REQUEST_DROPPED | {"authorization"}
_RESPONSE_DROPPED: Final = _HOP_BY_HOP | {"server", "x-request-id"}


def request_id(headers: CIMultiDictProxy[str]) -> str:
    """Return the client's request id, or a new one when there is none that can be passed on."""
    given = headers.get(REQUEST_ID, "")
    return given if _USABLE_ID.fullmatch(given) else uuid4().hex


def to_model(
    headers: CIMultiDictProxy[str],
    identity: str,
    *,
    scope: str | None = None,
    has_key: bool = False,
) -> CIMultiDict[str]:
    """Return the headers of a client's request for the model's API.

    Args:
        headers: What the client sent.
        identity: The request's id.
        scope: The signed scope.
        has_key: Whether `Authorization` holds a key of the gateway, which is no model's business.
    """
    passed = _without(headers, _WITHOUT_KEY if has_key else _REQUEST_DROPPED)
    if scope is not None:
        passed[SCOPE_HEADER] = scope
    passed[REQUEST_ID] = identity
    return passed


def to_client(headers: CIMultiDictProxy[str], identity: str) -> CIMultiDict[str]:
    """Return the headers of a model's answer for the client."""
    passed = _without(headers, _RESPONSE_DROPPED)
    passed["Server"] = SERVER
    passed[REQUEST_ID] = identity
    return passed


def _without(headers: CIMultiDictProxy[str], dropped: frozenset[str]) -> CIMultiDict[str]:
    named = headers.get("Connection")
    if named:
        dropped |= {name.strip().lower() for name in named.split(",")}
    return CIMultiDict(
        (name, value) for name, value in headers.items() if name.lower() not in dropped
    )
