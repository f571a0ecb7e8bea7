"""API keys as they are stored: one JSON document a key, with a salted hash in place of the key.

A key is `lgos_sk_ID_SECRET` with 256 random bits in SECRET, so that one SHA-256 is enough: there is nothing to guess. The
id in it finds the one hash to compare with; it is no secret.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from datetime import datetime
from typing import Annotated, Final

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

PREFIX: Final = "lgos_sk_"
KEY_ID_PATTERN: Final = r"[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?"
HASH_PATTERN: Final = r"sha256:[0-9a-f]{32}:[0-9a-f]{64}"
ALL_MODELS: Final = "*"


class ApiKey(BaseModel):
    """What is stored of one API key."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    id: Annotated[str, Field(pattern=f"^{KEY_ID_PATTERN}$")]
    """Names the key in logs and is part of it."""
    hash: Annotated[str, Field(pattern=f"^{HASH_PATTERN}$")]
    """`sha256:SALT:DIGEST` in hex."""
    scope: Annotated[str, Field(min_length=1, max_length=200)]
    """Owner of what the key's requests leave behind, such as paused runs; keys with one scope share it."""
    models: tuple[Annotated[str, Field(min_length=1)], ...] = (ALL_MODELS,)
    """Models that it may use: names, or beginnings of names with `*` at the end."""
    requests_per_minute: Annotated[int, Field(ge=1)] | None = None
    max_concurrent: Annotated[int, Field(ge=1)] | None = None
    """Limits of one gateway pod; `None`: no limit."""
    expires: AwareDatetime | None = None

    def may_use(self, model: str) -> bool:
        """Whether the key may use a model."""
        return any(matches(model, each) for each in self.models)

    def is_key(self, key: str) -> bool:
        """Whether `key` is the one whose hash this is; takes the same time for each wrong one."""
        _, salt, digest = self.hash.split(":")
        return hmac.compare_digest(_digest(salt, key), digest)

    def is_expired(self, now: datetime) -> bool:
        """Whether the key's time is over."""
        return self.expires is not None and now >= self.expires


def matches(model: str, pattern: str) -> bool:
    """Whether an entry of `ApiKey.models` means a model."""
    return model.startswith(pattern[:-1]) if pattern.endswith("*") else model == pattern


def new_key(key_id: str) -> tuple[str, str]:
    """Make a key.

    Returns:
        The key, which is not kept anywhere, and its hash.

    Raises:
        ValueError: The id cannot be part of a key.
    """
    if not re.fullmatch(KEY_ID_PATTERN, key_id):
        msg = f"'{key_id}' cannot name a key; use up to 40 small letters, digits and '-' inside"
        raise ValueError(msg)
    key = f"{PREFIX}{key_id}_{secrets.token_urlsafe(32)}"
    salt = secrets.token_hex(16)
    return key, f"sha256:{salt}:{_digest(salt, key)}"


def id_of(key: str) -> str | None:
    """Return the id in a key; `None` when it has not the form of one."""
    if not key.startswith(PREFIX):
        return None
    key_id, _, secret = key[len(PREFIX) :].partition("_")
    return key_id if secret else None


def _digest(salt: str, key: str) -> str:
    return hashlib.sha256(bytes.fromhex(salt) + key.encode(errors="replace")).hexdigest()
