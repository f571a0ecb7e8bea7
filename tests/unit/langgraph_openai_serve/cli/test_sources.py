"""A change of a file that a start has read is seen, once, and an old change is not."""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from pathlib import Path

import pytest

from langgraph_openai_serve.cli.handover import LocalOptions, Report
from langgraph_openai_serve.cli.search_path import import_from, search_path
from langgraph_openai_serve.cli.sources import Watch, imported_files
from langgraph_openai_serve.errors import ConfigurationError


def watch(files: list[Path], folders: list[Path], started_ns: int) -> Watch:
    report = Report(1, tuple(map(str, files)), tuple(map(str, folders)))
    return Watch.since(report, started_ns, time.time_ns())


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "agent.py"
    path.write_text("x = 1\n")
    os.utime(path, ns=(10**9, 10**9))
    return path


def test_nothing_has_changed_at_first(source: Path) -> None:
    assert watch([source], [source.parent], time.time_ns()).changed() == []


def test_change_removal_and_arrival_are_seen(source: Path) -> None:
    seen = watch([source], [source.parent], time.time_ns())
    os.utime(source, ns=(2 * 10**9, 2 * 10**9))
    assert seen.changed() == [source]
    source.unlink()
    assert seen.changed() == [source]
    seen = watch([source], [source.parent], time.time_ns())
    source.write_text("x = 2\n")
    (source.parent / "new.yaml").touch()
    (source.parent / "new.txt").touch()
    assert set(seen.changed()) == {source, source.parent / "new.yaml"}


def test_change_during_the_start_is_seen(source: Path) -> None:
    os.utime(source)
    assert watch([source], [], started_ns=time.time_ns() - 10**9 * 5).changed() == [source]


def test_file_from_the_future_is_taken_as_it_is(source: Path) -> None:
    later = time.time_ns() + 10**12
    os.utime(source, ns=(later, later))
    assert watch([source], [], started_ns=0).changed() == []


def test_bytecode_of_a_changed_module_is_forgotten(source: Path) -> None:
    cached = Path(importlib.util.cache_from_source(str(source)))
    cached.parent.mkdir()
    cached.touch()
    seen = watch([source], [], time.time_ns())
    assert cached.exists()
    os.utime(source, ns=(2 * 10**9, 2 * 10**9))
    seen.changed()
    assert not cached.exists()


def test_folder_that_is_gone_is_no_failure(tmp_path: Path) -> None:
    assert watch([], [tmp_path / "gone"], 0).changed() == []


def test_imported_files_are_a_users_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "users_module.py").write_text("x = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.import_module("users_module")
    try:
        files = imported_files()
    finally:
        del sys.modules["users_module"]
    assert str(tmp_path / "users_module.py") in files
    assert [
        name
        for name in files
        if "site-packages" in name or ("langgraph_openai_serve/" in name and "/server/" in name)
    ] == []


def test_files_of_a_failed_import_are_known_from_the_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "outer_part.py").write_text("import inner_part\n")
    (tmp_path / "inner_part.py").write_text("def f(:\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(SyntaxError) as caught:
        importlib.import_module("outer_part")
    error = ConfigurationError("cannot import")
    error.__cause__ = caught.value
    assert {str(tmp_path / "outer_part.py"), str(tmp_path / "inner_part.py")} <= imported_files(
        error
    )


def test_folders_up_to_the_current_one_are_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here/examples/models").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    here = tmp_path / "here"
    assert search_path([Path("examples/models/a.yaml")], []) == [
        here / "examples/models",
        here / "examples",
        here,
    ]
    assert search_path([Path("../elsewhere/a.yaml")], [Path("examples")]) == [
        here / "examples",
        tmp_path / "elsewhere",
        here,
    ]


def test_absent_folder_of_the_path_option_is_told() -> None:
    with pytest.raises(ConfigurationError, match="there is no folder 'absent'"):
        search_path([], [Path("absent")])


def test_search_path_comes_first_and_holds_no_folder_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", ["/b", "/a"])
    import_from([Path("/a"), Path("/c")])
    assert sys.path == ["/a", "/c", "/b"]


def test_options_and_report_survive_the_way() -> None:
    options = LocalOptions(("a.yaml",), "::1", 0, ("src",), "info")
    assert LocalOptions.loaded(options.dumped()) == options
    report = Report(0, ("a",), ("b",))
    assert Report.loaded(report.dumped()) == report
    assert not report.is_serving
