"""Progress that a graph shows to its callers.

A node sends `status_event(…)` through LangGraph's stream writer; with `GraphFeature.CLIENT_EVENTS` a streamed Response
shows it as commentary. Every other custom value stays private.
"""

from __future__ import annotations

from typing import Any, Final

EVENT_KEY: Final = "lgos.status"


def status_event(description: str, *, done: bool = False, hidden: bool = False) -> dict[str, Any]:
    """Return the value to pass to LangGraph's stream writer.

    Args:
        description: What the graph is doing, for a person.
        done: Whether this step is finished; for the graph's own use, not shown.
        hidden: Keep this status from callers.
    """
    return {"type": EVENT_KEY, "description": description, "done": done, "hidden": hidden}


def visible_description(value: Any) -> str | None:
    """Return the text to show for a custom stream value, or `None` when it is private or malformed."""
    if (
        not isinstance(value, dict)
        or value.get("type") != EVENT_KEY
        or value.get("hidden") is not False
    ):
        return None
    description = value.get("description")
    return description if isinstance(description, str) and description else None
