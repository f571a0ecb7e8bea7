"""Reads the API server's audit log: which program asked for what, and when."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One request that the API server has answered (or whose watch has ended)."""

    user: str
    """`system:serviceaccount:<namespace>:<name>` for a pod; the impersonated user when there is one."""
    user_agent: str
    verb: str
    resource: str
    """Plural name, with the subresource behind a slash: `deployments`, `langgraphmodels/status`."""
    namespace: str
    name: str
    code: int
    """HTTP status of the answer."""
    time: str
    """When the request came, RFC 3339."""

    @property
    def is_write(self) -> bool:
        """Whether the request meant to change something; a dry run and a refused one count too.

        A question about access is sent as `create` and changes nothing.
        """
        return self.verb in WRITES and not self.resource.startswith(
            ("subjectaccess", "selfsubject", "tokenreview")
        )


@dataclass(frozen=True, slots=True)
class AuditLog:
    """The audit log of one API server; it only grows while the cluster lives."""

    path: Path

    def mark(self) -> int:
        """Return a position: `entries(since=mark)` gives what came after it."""
        return self.path.stat().st_size

    def entries(self, since: int = 0) -> list[AuditEntry]:
        """Return the entries after a mark. The last line is left out while it is being written."""
        with self.path.open("rb") as file:
            file.seek(since)
            text = file.read()
        complete = text[: text.rfind(b"\n") + 1]
        return [_entry(json.loads(line)) for line in complete.splitlines()]

    def writes(self, user: str, since: int = 0) -> list[AuditEntry]:
        """Return the writes of one user after a mark, oldest first."""
        return [entry for entry in self.entries(since) if entry.user == user and entry.is_write]


def _entry(event: dict[str, Any]) -> AuditEntry:
    target = event.get("objectRef", {})
    resource = "/".join(
        part for part in (target.get("resource"), target.get("subresource")) if part
    )
    return AuditEntry(
        user=event.get("impersonatedUser", event["user"]).get("username", ""),
        user_agent=event.get("userAgent", ""),
        verb=event["verb"],
        resource=resource,
        namespace=target.get("namespace", ""),
        name=target.get("name", ""),
        code=event.get("responseStatus", {}).get("code", 0),
        time=event["requestReceivedTimestamp"],
    )
