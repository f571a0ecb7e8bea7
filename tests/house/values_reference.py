"""Writes docs/reference/values.md from the chart's values: `python tests/house/values_reference.py --write`.

A value's description is the comment that starts with `# -- ` right above it.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
VALUES = ROOT / "charts" / "lgos" / "values.yaml"
PAGE = ROOT / "docs" / "reference" / "values.md"
HEAD = """# Chart values

Generated from `charts/lgos/values.yaml` by `nox -s generate`. Keys that are not listed are refused.

| value | default | meaning |
| --- | --- | --- |
"""
KEY = re.compile(r"^(?P<indent> *)(?P<key>[A-Za-z]+):")


def described() -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield path and description of every value that has one."""
    path: list[str] = []
    comment: list[str] = []
    for line in VALUES.read_text().splitlines():
        text = line.strip()
        if text.startswith("# -- "):
            comment = [text.removeprefix("# -- ")]
        elif text.startswith("# ") and comment:
            comment.append(text.removeprefix("# "))
        elif match := KEY.match(line):
            path[len(match["indent"]) // 2 :] = [match["key"]]
            if comment:
                yield tuple(path), " ".join(comment)
            comment = []
        else:
            comment = []


def lookup(path: tuple[str, ...]) -> Any:
    """Return the default of a value."""
    value = yaml.safe_load(VALUES.read_text())
    for key in path:
        value = value[key]
    return value


def page() -> str:
    """Return the reference page."""
    rows = [
        f"| `{'.'.join(path)}` | `{json.dumps(lookup(path))}` | {text.replace('|', chr(92) + '|')} |"
        for path, text in described()
    ]
    return HEAD + "\n".join(rows) + "\n"


def main() -> None:
    """Write or compare the page."""
    if "--write" in sys.argv[1:]:
        PAGE.write_text(page())
    elif PAGE.read_text() != page():
        sys.exit(f"{PAGE.relative_to(ROOT)} is out of date: run `nox -s generate`")


if __name__ == "__main__":
    main()
