"""Where graphs are imported from on a developer's machine.

The folders of `--path`; each manifest's folder and the folders above it up to the current one; the current folder. So
`examples/models/echo.yaml`, served from the folder that has `examples`, can name a module of `examples`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from langgraph_openai_serve.errors import ConfigurationError


def search_path(manifests: Iterable[Path], extra: Iterable[Path]) -> list[Path]:
    """Return the folders, the first one first.

    Args:
        manifests: The manifest files.
        extra: The folders of `--path`.

    Raises:
        ConfigurationError: A folder of `--path` does not exist.
    """
    current = Path.cwd().resolve()
    folders: dict[Path, None] = {}
    for folder in extra:
        if not folder.is_dir():
            msg = f"there is no folder '{folder}' (seen from {current}); correct the argument of --path"
            raise ConfigurationError(msg)
        folders[folder.resolve()] = None
    for manifest in manifests:
        folder = manifest.parent.resolve()
        folders[folder] = None
        if folder.is_relative_to(current):
            above = [parent for parent in folder.parents if parent.is_relative_to(current)]
            folders.update(dict.fromkeys(above))
    folders[current] = None
    return list(folders)


def import_from(folders: Iterable[Path]) -> None:
    """Put `folders` before everything else on the module search path."""
    first = [str(folder) for folder in folders]
    sys.path[:] = [*first, *(entry for entry in sys.path if entry not in first)]
