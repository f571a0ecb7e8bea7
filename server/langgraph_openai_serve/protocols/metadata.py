"""The metadata keys that LGOS keeps for itself: those that begin with `lgos_`.

A key of this kind that means nothing is refused, so that a misspelt one is not taken for the caller's own.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Final

from langgraph_openai_serve.errors import RequestError
from langgraph_openai_serve.graph.settings import SETTINGS_KEY

RESERVED_PREFIX: Final = "lgos_"
RUN_ID_KEY: Final = "lgos_run_id"
KNOWN: Final = frozenset({SETTINGS_KEY, RUN_ID_KEY})


def check_metadata(metadata: Mapping[str, str]) -> None:
    """Refuse reserved keys that are unknown, and a run id that is no UUID.

    Raises:
        RequestError: With param `metadata.<key>`.
    """
    for key in metadata:
        if key.startswith(RESERVED_PREFIX) and key not in KNOWN:
            msg = f"Unknown metadata key '{key}': the prefix {RESERVED_PREFIX} is reserved."
            raise RequestError(msg, param=f"metadata.{key}")
    run_id = metadata.get(RUN_ID_KEY)
    if run_id is not None and not _is_run_id(run_id):
        msg = f"{RUN_ID_KEY} must be a UUID that is not nil."
        raise RequestError(msg, param=f"metadata.{RUN_ID_KEY}")


def _is_run_id(text: str) -> bool:
    try:
        return uuid.UUID(text).int != 0
    except ValueError:
        return False
