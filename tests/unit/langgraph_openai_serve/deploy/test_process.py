"""A program that cannot start says why, once for people and once for the kubelet."""

from __future__ import annotations

import errno
import logging
import socket
from pathlib import Path

import pytest

from langgraph_openai_serve.deploy.process import fast_loop, log_to_stderr, report_failure
from langgraph_openai_serve.deploy.server import listen, listen_problem
from langgraph_openai_serve.errors import ConfigurationError


def test_sentence_goes_to_both_places(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log"
    log.write_text("something longer that was there before")
    report_failure("lgos serve", "the graph is away", log)
    assert capsys.readouterr().err == "lgos serve: the graph is away\n"
    assert log.read_text() == "the graph is away"


def test_termination_log_is_not_made_where_there_is_none(tmp_path: Path) -> None:
    report_failure("lgos serve", "x", tmp_path / "log")
    assert list(tmp_path.iterdir()) == []


def test_termination_log_holds_no_more_than_the_kubelet_reads(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.touch()
    report_failure("lgos serve", "x" * 5000, log)
    assert log.stat().st_size == 4096


def test_termination_log_that_cannot_be_written_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        report_failure("lgos serve", "x", tmp_path)
    assert f"cannot write {tmp_path}" in caplog.text


def test_loop_is_the_fast_one() -> None:
    factory = fast_loop()
    assert factory is not None
    loop = factory()
    loop.close()
    assert type(loop).__module__ == "uvloop"


@pytest.mark.parametrize(
    ("level", "uvicorn"), [("info", logging.WARNING), ("debug", logging.DEBUG)]
)
def test_log_level_is_the_one_asked_for(level: str, uvicorn: int) -> None:
    root, access = logging.getLogger(), logging.getLogger("uvicorn")
    before = root.level, access.level, root.handlers[:]
    try:
        access.setLevel(logging.NOTSET)
        log_to_stderr(level)
        assert root.level == getattr(logging, level.upper())
        assert access.getEffectiveLevel() == uvicorn
    finally:
        root.setLevel(before[0])
        access.setLevel(before[1])
        root.handlers[:] = before[2]


def test_port_in_use_is_told_with_what_changes_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(
            ConfigurationError, match=rf"port {port} on 127\.0\.0\.1 is in use; .* with --port"
        ):
            listen("127.0.0.1", port, port_setting="--port")


def test_any_free_port_can_be_had() -> None:
    with listen("127.0.0.1", 0, port_setting="--port") as listener:
        assert listener.getsockname()[1] > 0


@pytest.mark.parametrize(
    ("number", "sentence"),
    [
        (errno.EACCES, "port 80 needs more rights; choose one above 1023 with --port"),
        (errno.EADDRNOTAVAIL, "cannot listen on host, port 80: no such address"),
    ],
)
def test_other_reasons_are_told(number: int, sentence: str) -> None:
    assert listen_problem(OSError(number, "no such address"), "host", 80, "--port") == sentence
