"""Check the text files of the repository: whitespace, line ends, conflict marks, and that YAML, TOML and JSON parse.

    python tests/house/files.py            # every tracked file
    python tests/house/files.py FILE…      # these, as pre-commit passes them

Prints one line for each finding and exits with 1 when there is one.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
SIZE_LIMIT_BYTES = 2 * 1024 * 1024
CONFLICT = ("<" * 7 + " ", ">" * 7 + " ")


def tracked(root: Path = ROOT) -> list[Path]:
    """Files that git knows and that still exist, symbolic links left out."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, check=True)
    paths = (root / name for name in listed.stdout.decode().split("\0") if name)
    return [path for path in paths if path.is_file() and not path.is_symlink()]


def text_of(path: Path) -> str | None:
    """The text of a file; None for a binary one."""
    data = path.read_bytes()
    return None if b"\0" in data else data.decode("utf-8", "surrogateescape")


def is_template(path: Path) -> bool:
    """Helm's templates are not YAML before they are rendered."""
    return "templates" in path.parts and "charts" in path.parts


def parse_error(path: Path, text: str) -> str | None:
    """One line that says why a YAML, TOML or JSON file does not parse; None when it does."""
    try:
        if path.suffix in {".yaml", ".yml"} and not is_template(path):
            list(yaml.compose_all(text, Loader=yaml.SafeLoader))
        elif path.suffix == ".toml":
            tomllib.loads(text)
        elif path.suffix == ".json":
            json.loads(text)
    except (yaml.YAMLError, ValueError) as error:
        return " ".join(str(error).split())
    return None


def findings(path: Path) -> Iterator[str]:
    """What is wrong with one file."""
    if path.stat().st_size > SIZE_LIMIT_BYTES:
        yield "is larger than 2 MiB; keep big files out of the repository"
    text = text_of(path)
    if not text:
        return
    if "\r" in text:
        yield "has carriage returns; use line feeds only"
    if path.suffix == ".sse":
        return  # an event stream is kept byte for byte, and an empty line ends its last event
    if not text.endswith("\n") or text.endswith("\n\n"):
        yield "must end with exactly one line feed"
    for number, line in enumerate(text.split("\n"), start=1):
        if line != line.rstrip(" \t"):
            yield f"line {number} has white space at its end"
        if line.startswith(CONFLICT):
            yield f"line {number} is a conflict mark"
    if error := parse_error(path, text):
        yield f"does not parse: {error}"


def is_checked(path: Path) -> bool:
    """Golden files are bytes that a test compares; their white space is theirs."""
    return "golden" not in path.parts


def main(names: list[str]) -> int:
    """Check the named files, or all tracked ones; return the exit code."""
    paths = [Path(name) for name in names] or tracked()
    found = [
        f"{path}: {finding}" for path in paths if is_checked(path) for finding in findings(path)
    ]
    print(*found, sep="\n", end="\n" if found else "")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
