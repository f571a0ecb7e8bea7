"""The signed scope header: what the gateway tells a model's API about who asks.

`X-LGOS-Scope: v1.TIME.NONCE.SCOPE.SIGNATURE`: Unix seconds, 16 random hex digits, the scope in base64url, and in hex the
HMAC-SHA-256 over all of it, the method, the path and the model's id. The model is part of it so that a model that gets a
header cannot use it at another one. The body is not: it streams. A verifier takes a header for `WINDOW_SECONDS` around
its time, and once: it remembers the nonces of the window.
"""

from __future__ import annotations

import hmac
import secrets
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

SCOPE_HEADER: Final = "X-LGOS-Scope"
WINDOW_SECONDS: Final = 60
"""How far the clocks of a gateway and a model's API may differ, and so how long a header can be used."""
KEY_MIN: Final = 32
"""Characters of the shortest key that is taken."""
KEYS_MAX: Final = 2
_VERSION: Final = "v1"


class ScopeRefusedError(Exception):
    """A scope header is missing or not valid; the message says why and names no part of it."""


def parse_scope_keys(text: str) -> tuple[bytes, ...]:
    """Return the keys of `LGOS_SCOPE_KEY`: none, one, or two with a comma between.

    Raises:
        ValueError: There are more than two, or one is too short.
    """
    keys = [part.strip() for part in text.split(",") if part.strip()]
    if len(keys) > KEYS_MAX:
        msg = f"holds {len(keys)} keys; give one, or the new and the old one with a comma between"
        raise ValueError(msg)
    if any(len(key) < KEY_MIN for key in keys):
        msg = f"holds a key of less than {KEY_MIN} characters; make one with: openssl rand -hex 32"
        raise ValueError(msg)
    return tuple(key.encode() for key in keys)


def sign_scope(key: bytes, scope: str, *, method: str, path: str, model: str) -> str:
    """Return the value of the scope header for one request."""
    claim = f"{_VERSION}.{int(time.time())}.{secrets.token_hex(8)}.{_encoded(scope)}"
    return f"{claim}.{_signature(key, claim, method, path, model)}"


class ScopeVerifier:
    """Checks the scope headers of the requests to one model.

    Args:
        keys: A header may be signed with any of them.
        model: The model's public id.
        clock: Unix seconds.
    """

    def __init__(
        self, keys: Sequence[bytes], model: str, clock: Callable[[], float] = time.time
    ) -> None:
        self._keys = tuple(keys)
        self._model = model
        self._clock = clock
        self._seen: set[str] = set()
        self._expiring: deque[tuple[float, str]] = deque()

    def scope(self, value: str, *, method: str, path: str) -> str:
        """Return the scope of a request from its header; the same header is not taken again.

        Raises:
            ScopeRefusedError: The header is not one of the gateway for this request.
        """
        claim, _, signature = value.rpartition(".")
        if not value.isascii() or not any(
            hmac.compare_digest(signature, _signature(key, claim, method, path, self._model))
            for key in self._keys
        ):
            msg = "its signature is not valid for this request"
            raise ScopeRefusedError(msg)
        _, at, nonce, scope = claim.split(".")
        now = self._clock()
        if abs(now - int(at)) > WINDOW_SECONDS:
            msg = f"it was made more than {WINDOW_SECONDS} seconds ago, or ahead"
            raise ScopeRefusedError(msg)
        self._use(nonce, now)
        return urlsafe_b64decode(scope).decode()

    def _use(self, nonce: str, now: float) -> None:
        while self._expiring and self._expiring[0][0] < now:
            self._seen.discard(self._expiring.popleft()[1])
        if nonce in self._seen:
            msg = "it was used before"
            raise ScopeRefusedError(msg)
        self._seen.add(nonce)
        # A header from the edge ahead of this clock stays valid for two windows.
        self._expiring.append((now + 2 * WINDOW_SECONDS + 1, nonce))


def _encoded(scope: str) -> str:
    return urlsafe_b64encode(scope.encode()).decode()


def _signature(key: bytes, claim: str, method: str, path: str, model: str) -> str:
    # None of the parts can hold a line break but the model, which is last.
    signed = "\n".join((claim, method, path, model))
    return hmac.digest(key, signed.encode(errors="surrogateescape"), "sha256").hex()
