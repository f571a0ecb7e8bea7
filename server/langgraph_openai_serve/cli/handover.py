"""What `lgos dev` and the serving process that it starts tell each other: options down, one report up.

Both go as JSON: the options as an argument, the report as one line on a socket. The socket stays open, so that each side
sees when the other one is gone.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Self


@dataclass(frozen=True, slots=True)
class LocalOptions:
    """What is served, and where."""

    files: tuple[str, ...]
    host: str
    port: int
    paths: tuple[str, ...]
    log_level: str

    def dumped(self) -> str:
        """Return the options as text."""
        return json.dumps(asdict(self))

    @classmethod
    def loaded(cls, text: str) -> Self:
        """Return the options from their text."""
        options = json.loads(text)
        return cls(
            **{**options, "files": tuple(options["files"]), "paths": tuple(options["paths"])}
        )


@dataclass(frozen=True, slots=True)
class Report:
    """How a start went."""

    port: int
    """The port that is served; 0 when nothing is."""
    files: tuple[str, ...]
    """What was read: a change of one of them makes the start obsolete."""
    folders: tuple[str, ...]
    """Folders in which a file that comes or goes makes the start obsolete, too."""

    @property
    def is_serving(self) -> bool:
        """Whether requests are answered."""
        return self.port != 0

    def dumped(self) -> bytes:
        """Return the report as one line."""
        return json.dumps(asdict(self)).encode() + b"\n"

    @classmethod
    def loaded(cls, line: bytes) -> Self:
        """Return the report from its line."""
        report = json.loads(line)
        return cls(report["port"], tuple(report["files"]), tuple(report["folders"]))
