"""Which files a start has read, and whether they have changed since.

The serving process knows what it imported; `lgos dev` looks at those files a few times a second. Comparing time and
size of some dozen files costs less than it takes to read this sentence, needs no file system events (which network and
container mounts do not have), and misses nothing between two starts.
"""

from __future__ import annotations

import importlib.util
import sys
import traceback
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

from langgraph_openai_serve.cli.handover import Report
from langgraph_openai_serve.deploy.imports import is_installed

SUFFIXES: Final = (".py", ".yaml", ".yml")
OWN_PACKAGES: Final = ("langgraph_openai_serve", "lgos_contract")
OWN_FOLDERS: Final = tuple(Path(__file__).parents[2] / name for name in OWN_PACKAGES)

Stamp = tuple[int, int]


def imported_files(error: BaseException | None = None) -> set[str]:
    """Return the files of a user's modules in this process.

    Args:
        error: Why the start failed; a module that failed is not among the imported ones, but in its traceback.
    """
    files = {
        str(module.__file__)
        for name, module in list(sys.modules.items())
        if getattr(module, "__file__", None) and not _is_ours(name)
    }
    files |= _failed_files(error)
    return {str(Path(name).absolute()) for name in files if _is_users_source(Path(name))}


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] in OWN_PACKAGES or module == "__main__"


def _is_users_source(path: Path) -> bool:
    ours = any(path.is_relative_to(folder) for folder in OWN_FOLDERS)
    return path.suffix == ".py" and not ours and not is_installed(path)


def _failed_files(error: BaseException | None) -> set[str]:
    files: set[str] = set()
    while error is not None:
        files.update(frame.filename for frame in traceback.extract_tb(error.__traceback__))
        if isinstance(error, SyntaxError) and error.filename:
            files.add(error.filename)
        error = error.__cause__ or error.__context__
    return {name for name in files if not name.startswith("<")}


@dataclass(slots=True)
class Watch:
    """The files of one start, as they were when it began."""

    report: Report
    stamps: dict[Path, Stamp | None] = field(default_factory=dict)

    @classmethod
    def since(cls, report: Report, started_ns: int, now_ns: int) -> Self:
        """Begin to watch what `report` names.

        Args:
            report: What was read.
            started_ns: When the start began; a file that was written since then counts as changed.
            now_ns: The time now; a file from the future (another clock) is taken as it is.
        """
        watch = cls(report)
        for path, stamp in watch.look().items():
            late = stamp is not None and started_ns <= stamp[0] <= now_ns
            watch.stamps[path] = None if late else stamp
        return watch

    def changed(self) -> list[Path]:
        """Return the files that are not as they were, and forget the bytecode of changed modules."""
        now = self.look()
        paths = [
            path for path in {**self.stamps, **now} if now.get(path) != self.stamps.get(path, ())
        ]
        for path in paths:
            _forget_bytecode(path)
        return paths

    def look(self) -> dict[Path, Stamp | None]:
        """Return what is there now: time and size of each file, `None` for one that is not."""
        paths = {Path(name) for name in self.report.files}
        for folder in map(Path, self.report.folders):
            if folder.is_dir():
                paths.update(path for path in folder.iterdir() if path.suffix in SUFFIXES)
        return {path: _stamp(path) for path in paths}


def _stamp(path: Path) -> Stamp | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def _forget_bytecode(path: Path) -> None:
    """Python compares whole seconds and the size: an edit within a second would go unseen."""
    if path.suffix == ".py":
        Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)


def folders_of(files: Iterable[str]) -> set[str]:
    """Return the folders that hold `files`."""
    return {str(Path(name).parent) for name in files}
