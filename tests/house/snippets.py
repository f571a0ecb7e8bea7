"""Code blocks of the documentation are files that tests run; this compares the two, or copies the files in.

A fenced block names its file, and a region of it where the whole is too long:

    ```python title="examples/client_chat.py"
    ```yaml title="examples/models/echo.yaml#spec"

A region `spec` is what stands between the comment lines `# region: spec` and `# endregion: spec`.

    python tests/house/snippets.py             # list the blocks that differ; exit code 1 when there is one
    python tests/house/snippets.py --write     # copy the files into the pages
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>[\w+-]*)(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=indent)```[ ]*$",
    re.MULTILINE | re.DOTALL,
)
TITLE = re.compile(r'title="(?P<path>[^"#]+)(?:#(?P<region>[\w-]+))?"')


class SnippetError(Exception):
    """A block names a file or a region that is not there."""


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    page: Path
    line: int
    language: str
    info: str
    indent: str
    body: str

    @property
    def source(self) -> tuple[str, str | None] | None:
        """File and region that the block names; None when it names none."""
        title = TITLE.search(self.info)
        return (title["path"], title["region"]) if title else None

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def pages() -> list[Path]:
    """Every page of the documentation."""
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def block_of(page: Path, text: str, match: re.Match[str]) -> Block:
    """The block that a match of FENCE is."""
    line = text.count("\n", 0, match.start()) + 1
    return Block(page, line, match["language"], match["info"], match["indent"], match["body"])


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page, from top to bottom."""
    text = page.read_text()
    for match in FENCE.finditer(text):
        yield block_of(page, text, match)


def region_of(text: str, name: str) -> str:
    """The lines between the marks of a region, without common indentation."""
    match = re.search(
        rf"^[ ]*# region: {re.escape(name)}\n(.*?)^[ ]*# endregion: {re.escape(name)}$",
        text,
        re.MULTILINE | re.DOTALL,
    )
    if not match:
        raise SnippetError(f"has no region {name}")
    return textwrap.dedent(match[1])


def wanted(block: Block) -> str | None:
    """What the block must contain; None when it names no file."""
    if block.source is None:
        return None
    path, region = block.source
    try:
        text = (ROOT / path).read_text()
        if region:
            text = region_of(text, region)
    except (OSError, SnippetError) as error:
        raise SnippetError(f"{block}: {path}: {error}") from None
    lines = (line for line in text.splitlines() if not re.match(r" *# (end)?region: ", line))
    return "".join(f"{block.indent}{line}".rstrip() + "\n" for line in lines)


def rewritten(page: Path) -> str:
    """The page with every named file copied in."""
    text = page.read_text()

    def replace(match: re.Match[str]) -> str:
        new = wanted(block_of(page, text, match))
        if new is None:
            return match[0]
        start, end = match.start("body") - match.start(), match.end("body") - match.start()
        return match[0][:start] + new + match[0][end:]

    return FENCE.sub(replace, text)


def main(arguments: list[str]) -> int:
    """Compare or write; return the exit code."""
    writes, failed = "--write" in arguments, False
    for page in pages():
        try:
            new = rewritten(page)
        except SnippetError as error:
            print(error, file=sys.stderr)
            failed = True
            continue
        if new == page.read_text():
            continue
        print(f"{page.relative_to(ROOT)}: {'written' if writes else 'differs'}")
        if writes:
            page.write_text(new)
        else:
            failed = True
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
