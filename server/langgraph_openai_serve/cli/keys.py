"""`lgos keys new`: makes an API key and the entry that the gateway keeps of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from pydantic import ValidationError

from lgos_contract.api_keys import ALL_MODELS, ApiKey, new_key


def new_entry(
    key_id: str,
    scope: str,
    *,
    models: Sequence[str] | None = None,
    requests_per_minute: int | None = None,
    max_concurrent: int | None = None,
    expires_in: timedelta | None = None,
) -> tuple[str, str]:
    """Return a new key and its entry as JSON.

    Raises:
        ValueError: A value cannot be used; the message names it and what it may be.
    """
    key, digest = new_key(key_id)
    try:
        entry = ApiKey(
            id=key_id,
            hash=digest,
            scope=scope,
            models=tuple(models or [ALL_MODELS]),
            requests_per_minute=requests_per_minute,
            max_concurrent=max_concurrent,
            expires=datetime.now(UTC).replace(microsecond=0) + expires_in if expires_in else None,
        )
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        option = str(problem["loc"][0]).replace("_", "-")
        msg = f"--{option}: {problem['msg']}"
        raise ValueError(msg) from error
    return key, entry.model_dump_json(exclude_none=True)
