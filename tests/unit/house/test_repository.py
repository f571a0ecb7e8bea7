"""Rules of the house that no linter knows."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from house.files import text_of, tracked

ROOT = Path(__file__).parents[3]
BIN = Path(sys.executable).parent
PROGRAMS = ("server", "operator")
BANNED_MODULES = {"utils", "helpers", "common", "base", "manager"}
MODULE_LINES_LIMIT = 400
DECISION_LINES_LIMIT = 60
UNFINISHED = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|X" + r"XX|NotImpl" + r"ementedError)\b")
BARE_IGNORE = re.compile(r"#\s*(type:\s*ignore(?!\[)|noqa(?!:\s*[A-Z]))")
HOME_PATH = re.compile(r"(?<![\w.])/(home|Users)/[\w.-]+|(?<![\w.])/roo" + r"t/(?!\.)")
PRIVATE_HOST = re.compile(
    r"https?://[\w.-]+\.(internal|corp|lan|intranet|local)\b(?<!svc\.cluster\.local)"
)
PUBLIC_INDEXES = {"pypi.org", "files.pythonhosted.org"}


def python_files() -> list[Path]:
    return [path for path in tracked() if path.suffix == ".py"]


def program_files() -> list[Path]:
    return [path for path in python_files() if path.relative_to(ROOT).parts[0] in PROGRAMS]


def lines_matching(pattern: re.Pattern[str], paths: list[Path]) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in paths
        for number, line in enumerate((text_of(path) or "").splitlines(), start=1)
        if pattern.search(line)
    ]


def test_operator_folder_is_no_package() -> None:
    # It would shadow the standard library's module of that name for everything run from the root.
    assert not (ROOT / "operator/__init__.py").exists()
    folders = {path.name for path in (ROOT / "tests").rglob("*") if path.is_dir()}
    assert "operator" not in folders


def test_test_folders_are_no_packages() -> None:
    assert list((ROOT / "tests").rglob("__init__.py")) == []


def test_module_names_say_what_is_inside() -> None:
    assert [path for path in program_files() if path.stem in BANNED_MODULES] == []


def test_no_module_is_too_long_to_review() -> None:
    sizes = {path: len(path.read_text().splitlines()) for path in program_files()}
    assert {path: size for path, size in sizes.items() if size > MODULE_LINES_LIMIT} == {}


def test_nothing_is_marked_unfinished() -> None:
    assert lines_matching(UNFINISHED, python_files()) == []


def test_every_ignored_finding_has_a_code() -> None:
    assert lines_matching(BARE_IGNORE, python_files()) == []


def test_no_file_names_a_path_or_host_of_one_machine() -> None:
    names = [re.escape(str(ROOT)) + r"(?=[/\s\"'`]|$)", re.escape("../" + "shared/")]
    if len(socket.gethostname()) > 6:
        names.append(rf"\b{re.escape(socket.gethostname())}\b")
    machine = re.compile("|".join([*names, HOME_PATH.pattern]))
    assert lines_matching(machine, tracked()) == []
    assert lines_matching(PRIVATE_HOST, tracked()) == []


def test_lock_file_names_public_indexes_only() -> None:
    hosts = set(re.findall(r"https?://([^/\"]+)", (ROOT / "uv.lock").read_text()))
    assert hosts == PUBLIC_INDEXES


def test_make_bootstraps_with_the_locked_uv() -> None:
    lock = tomllib.loads((ROOT / "uv.lock").read_text())
    [locked] = [package["version"] for package in lock["package"] if package["name"] == "uv"]
    pinned = re.search(r"^UV_VERSION := (\S+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert pinned is not None
    assert pinned[1] == locked


def test_lock_file_fits_the_metadata() -> None:
    result = subprocess.run(
        [BIN / "uv", "lock", "--check", "--offline"], cwd=ROOT, capture_output=True, text=True
    )
    assert result.returncode == 0, f"run `uv lock`: {result.stderr}"


@pytest.mark.parametrize(
    "page", sorted((ROOT / "docs/decisions").glob("[0-9]*.md")), ids=lambda path: path.stem
)
def test_decisions_are_short_and_say_what_was_refused(page: Path) -> None:
    text = page.read_text()
    assert len(text.splitlines()) < DECISION_LINES_LIMIT
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == [
        "Context",
        "Decision",
        "Consequences",
        "What was refused",
    ]


@pytest.mark.parametrize(
    ("pattern", "line", "is_found"),
    [
        (BARE_IGNORE, "x = y  # type: " + "ignore", True),
        (BARE_IGNORE, "x = y  # type: " + "ignore[arg-type]", False),
        (BARE_IGNORE, "x = y  # no" + "qa", True),
        (BARE_IGNORE, "x = y  # no" + "qa: S101 - a reason", False),
        (UNFINISHED, "# TO" + "DO: later", True),
        (UNFINISHED, "mastodon", False),
        (HOME_PATH, "see /ho" + "me/jane/graphs", True),
        (HOME_PATH, "the path /api/home/page", False),
        (PRIVATE_HOST, "https://" + "pypi.corp-net.internal/simple", True),
        (PRIVATE_HOST, "https://web.team.svc.cluster.local/v1", False),
    ],
)
def test_patterns_of_this_file_find_what_they_should(
    pattern: re.Pattern[str], line: str, is_found: bool
) -> None:
    assert bool(pattern.search(line)) is is_found
