"""Whether a live object still says what was applied: the test that keeps the steady state free of writes.

Only what was applied is looked at; fields, list items and labels of others are none of our business. The API server
stores some values in another form, so quantities are compared by value and lists of maps by their merge key.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

_MERGE_KEYS: Final = ("mountPath", "containerPort", "port", "key", "uid", "name")
"""Keys by which the API server merges lists of maps; the first that all items have decides."""
_QUANTITY_PARENTS: Final = frozenset({"limits", "requests", "sizeLimit"})
_DROPPED: Final = {
    **dict.fromkeys(
        ("hostIPC", "hostNetwork", "hostPID", "readOnly", "stdin", "stdinOnce", "tty"), False
    ),
    "initialDelaySeconds": 0,
}
"""Fields that the API server does not store when they have this value; a `podTemplate` may say them."""
_QUANTITY = re.compile(r"^([+-]?[0-9.]+)(m|k|[MGTPE]|[KMGTPE]i|[eE][+-]?[0-9]+|)$")
_NEVER: Final = object()
_FACTORS: Final = {
    "": Decimal(1),
    "m": Decimal("0.001"),
    **{unit: Decimal(1000) ** power for power, unit in enumerate("kMGTPE", start=1)},
    **{f"{unit}i": Decimal(1024) ** power for power, unit in enumerate("KMGTPE", start=1)},
}


def covers(live: Any, desired: Any, *, parent: str = "") -> bool:
    """Return whether `live` has everything that `desired` says.

    Args:
        live: The value as the API server holds it.
        desired: The value as it was applied.
        parent: Name of the field that holds the value, or of the map that holds the field.
    """
    if isinstance(desired, Mapping):
        return _covers_map(live, desired, parent)
    if isinstance(desired, list):
        return _covers_list(live, desired, parent)
    if parent in _QUANTITY_PARENTS:
        found = quantity(live)
        return live == desired if found is None else found == quantity(desired)
    return type(live) is type(desired) and bool(live == desired)


def quantity(value: Any) -> Decimal | None:
    """Return a Kubernetes quantity such as `0.1`, `100m` or `1Gi` as a number; `None` if it is none."""
    match = _QUANTITY.match(str(value))
    if match is None:
        return None
    number, unit = match.groups()
    if unit in _FACTORS:
        return Decimal(number) * _FACTORS[unit]
    return Decimal(number + unit)


def _covers_map(live: Any, desired: Mapping[str, Any], parent: str) -> bool:
    if not isinstance(live, Mapping):
        return False
    for field, wanted in desired.items():
        # The API server drops empty values (an empty environment variable, an absent map).
        if field not in live:
            if wanted in ("", None, [], {}) or _DROPPED.get(field, _NEVER) == wanted:
                continue
            return False
        if not covers(live[field], wanted, parent=parent if parent in _QUANTITY_PARENTS else field):
            return False
    return True


def _covers_list(live: Any, desired: list[Any], parent: str) -> bool:
    if not isinstance(live, list):
        return False
    merge_key = _merge_key(desired)
    if merge_key is None:
        return len(live) == len(desired) and all(
            covers(found, wanted, parent=parent)
            for found, wanted in zip(live, desired, strict=True)
        )
    by_key = {item.get(merge_key): item for item in live if isinstance(item, Mapping)}
    return all(covers(by_key.get(wanted[merge_key]), wanted, parent=parent) for wanted in desired)


def _merge_key(items: list[Any]) -> str | None:
    if not items or not all(isinstance(item, Mapping) for item in items):
        return None
    for key in _MERGE_KEYS:
        values = [item.get(key) for item in items]
        if None not in values and len(set(values)) == len(values):
            return key
    return None
