"""Changelog fragments are one sentence for a user each, and towncrier can build them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
BIN = Path(sys.executable).parent
FRAGMENTS = sorted(path for path in (ROOT / "changelog.d").iterdir() if path.name != ".gitkeep")
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*\.(added|changed|fixed|removed|security)\.md")


@pytest.mark.parametrize("path", FRAGMENTS, ids=lambda path: path.name)
def test_fragment_is_one_sentence_under_a_known_type(path: Path) -> None:
    assert NAME.fullmatch(path.name), (
        "name it changelog.d/<slug>.<added|changed|fixed|removed|security>.md"
    )
    text = path.read_text()
    assert text.count("\n") == 1, "one line"
    assert text.endswith(".\n"), "one sentence"


def test_towncrier_builds_the_changelog_from_the_fragments() -> None:
    draft = subprocess.run(
        [BIN / "towncrier", "build", "--draft", "--version", "0.0.0"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "## 0.0.0" in draft.stdout
    missing = [path.name for path in FRAGMENTS if path.read_text().strip() not in draft.stdout]
    assert missing == []
