"""`module:attribute` to the object of that name, with one sentence for each way in which that can fail."""

from __future__ import annotations

import difflib
import importlib
import re
import sys
import sysconfig
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from langgraph.pregel import Pregel

from langgraph_openai_serve.errors import ConfigurationError
from langgraph_openai_serve.graph.config import GraphConfig
from lgos_contract.manifest import GRAPH_PATTERN

_PYTHON_FOLDERS: Final = tuple(
    {Path(sysconfig.get_path(kind)) for kind in ("stdlib", "platstdlib", "scripts")}
)


def load_attribute(target: str) -> Any:
    """Import the module of `module:attribute` and return the attribute.

    Raises:
        ConfigurationError: The target is malformed, or the module or the attribute cannot be had.
    """
    if not re.match(GRAPH_PATTERN, target):
        msg = f"'{target}' does not name a graph; write it as package.module:attribute"
        raise ConfigurationError(msg)
    module_name, _, attribute = target.partition(":")
    module = _import(module_name)
    try:
        return getattr(module, attribute)
    except AttributeError:
        msg = f"module '{module_name}' has no attribute '{attribute}'; {_suggestion(module, attribute)}"
        raise ConfigurationError(msg) from None


def _import(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise ConfigurationError(_not_found(name, error)) from error
    except SyntaxError as error:
        place = f"{Path(error.filename or name).name}, line {error.lineno}"
        msg = f"module '{name}' cannot be imported: {place} is not valid Python: {error.msg}"
        raise ConfigurationError(msg) from error
    except SystemExit as error:
        msg = f"module '{name}' cannot be imported: it ends the process with exit code {error.code}"
        raise ConfigurationError(msg) from error
    except Exception as error:
        msg = f"module '{name}' cannot be imported: {described(error)}"
        raise ConfigurationError(msg) from error


def _not_found(name: str, error: ModuleNotFoundError) -> str:
    missing = error.name or name
    if name != missing and not name.startswith(f"{missing}."):
        package = missing.partition(".")[0]
        return (
            f"module '{name}' cannot be imported because it needs the module '{missing}', which is not"
            f" installed here; install the package that has '{package}'"
        )
    parent, _, last = name.rpartition(".")
    if missing == name and parent:
        return f"the package '{parent}' has no module '{last}'; correct the name in '{name}'"
    return (
        f"there is no module '{missing}' here; install the package that has it, or correct the name"
        f" (looked in {_places()} and the installed packages)"
    )


def _places() -> str:
    """Return the folders of the module search path that hold a user's own files."""
    own = [str(Path(entry).absolute()) for entry in sys.path if not is_installed(Path(entry))]
    return ", ".join(dict.fromkeys(own)) or "no folder"


def is_installed(path: Path) -> bool:
    """Whether a file or folder belongs to Python or to an installed package, and so is nobody's working copy."""
    absolute = path.absolute()
    if {"site-packages", "dist-packages"} & set(absolute.parts) or absolute.suffix == ".zip":
        return True
    return any(absolute.is_relative_to(folder) for folder in _PYTHON_FOLDERS)


def _suggestion(module: ModuleType, attribute: str) -> str:
    public = {name: value for name, value in vars(module).items() if not name.startswith("_")}
    graphs = [name for name, value in public.items() if isinstance(value, Pregel | GraphConfig)]
    close = difflib.get_close_matches(attribute, public, n=1)
    if close:
        return f"did you mean '{close[0]}'?"
    if graphs:
        return f"it has {' and '.join(repr(name) for name in graphs)}"
    return "it has no graph and no GraphConfig either"


def described(error: BaseException) -> str:
    """Return an error's type, the first line of its text, and the line of the user's code that led to it."""
    text = str(error).strip().partition("\n")[0]
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not is_installed(Path(frame.filename))]
    place = f" ({Path(own[-1].filename).name}, line {own[-1].lineno})" if own else ""
    return f"{type(error).__name__}: {text}{place}" if text else f"{type(error).__name__}{place}"
