"""The programs under tests/house find what they are for."""

from __future__ import annotations

from pathlib import Path

import pytest

from house import files, summary

SUITE = '<testsuites><testsuite tests="{tests}" failures="{failures}" errors="{errors}" skipped="{skipped}"/></testsuites>'


def report(folder: Path, name: str, tests: int, failures: int, errors: int, skipped: int) -> None:
    text = SUITE.format(tests=tests, failures=failures, errors=errors, skipped=skipped)
    (folder / f"{name}.xml").write_text(text)


def test_summary_adds_up_all_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report(tmp_path, "unit", tests=10, failures=0, errors=0, skipped=2)
    report(tmp_path, "contract", tests=5, failures=0, errors=0, skipped=0)
    assert summary.main(str(tmp_path)) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "13 passed, 0 failed, 2 skipped"


def test_summary_fails_with_errors_and_failures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report(tmp_path, "unit", tests=10, failures=1, errors=2, skipped=0)
    assert summary.main(str(tmp_path)) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "7 passed, 3 failed, 0 skipped"


def test_summary_fails_without_reports_and_with_a_torn_one(tmp_path: Path) -> None:
    assert summary.main(str(tmp_path)) == 1
    (tmp_path / "unit.xml").write_text("<testsuites><testsu")
    assert summary.main(str(tmp_path)) == 1


@pytest.mark.parametrize(
    ("name", "text", "finding"),
    [
        ("a.py", "x = 1 \n", "line 1 has white space at its end"),
        ("a.py", "x = 1", "must end with exactly one line feed"),
        ("a.py", "x = 1\n\n", "must end with exactly one line feed"),
        ("a.py", "x = 1\r\n", "has carriage returns; use line feeds only"),
        ("a.py", "<" * 7 + " HEAD\n", "line 1 is a conflict mark"),
        ("a.yaml", "a: [1\n", "does not parse"),
        ("a.toml", "a = \n", "does not parse"),
        ("a.json", "{,}\n", "does not parse"),
    ],
)
def test_bad_file_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str, finding: str
) -> None:
    path = tmp_path / name
    path.write_bytes(text.encode())
    assert files.main([str(path)]) == 1
    assert finding in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.yaml", "a: 1\n---\nb: 2\n"),
        ("charts/lgos/templates/a.yaml", "{{- if .Values.a }}\na: 1\n{{- end }}\n"),
        ("golden/chat.sse", "data: {} \r\n"),
        ("a.bin", "\0\r\n "),
        ("empty.py", ""),
    ],
)
def test_good_file_is_not_reported(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    assert files.main([str(path)]) == 0
