from __future__ import annotations

import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from langgraph_openai_serve.cli.keys import new_entry
from lgos_contract.api_keys import ApiKey
from lgos_gateway.errors import Reason, Refusal
from lgos_gateway.keys import Caller, Keys


def store(folder: Path, key_id: str = "ci", **facts: object) -> str:
    key, entry = new_entry(key_id, "team-a", **facts)  # type: ignore[arg-type]  # tests name any of them
    (folder / f"{key_id}.json").write_text(entry)
    return key


def refused(keys: Keys, authorization: str | None) -> Reason | None:
    with pytest.raises(Refusal) as caught:
        keys.caller(authorization)
    assert caught.value.status == 401
    return caught.value.reason


def loaded(folder: Path) -> Keys:
    keys = Keys(folder)
    keys.load()
    return keys


def test_a_stored_key_finds_its_scope_and_the_file_does_not_hold_it(tmp_path: Path) -> None:
    key = store(tmp_path)
    assert loaded(tmp_path).caller(f"bearer  {key}").key.scope == "team-a"
    assert key.rpartition("_")[2] not in (tmp_path / "ci.json").read_text()


@pytest.mark.parametrize(
    ("authorization", "reason"),
    [
        (None, Reason.NO_KEY),
        ("", Reason.NO_KEY),
        ("Basic Y2k6eA==", Reason.NO_KEY),
        ("Bearer ", Reason.WRONG_KEY),
        ("Bearer sk-123", Reason.WRONG_KEY),
        ("Bearer lgos_sk_ci_", Reason.WRONG_KEY),
        ("Bearer lgos_sk_ci_guess", Reason.WRONG_KEY),
        ("Bearer lgos_sk_nobody_guess", Reason.WRONG_KEY),
        ("Bearer lgos_sk_\udce9_\udce9", Reason.WRONG_KEY),
    ],
)
def test_what_is_no_key_is_refused(
    authorization: str | None, reason: Reason, tmp_path: Path
) -> None:
    store(tmp_path)
    assert refused(loaded(tmp_path), authorization) is reason


def test_an_expired_key_is_refused(tmp_path: Path) -> None:
    key = store(tmp_path, expires_in=timedelta(seconds=-5))
    assert refused(loaded(tmp_path), f"Bearer {key}") is Reason.EXPIRED_KEY


def test_a_replaced_volume_is_read_again_and_limits_go_on(tmp_path: Path) -> None:
    first, second = tmp_path / "..1", tmp_path / "..2"
    first.mkdir()
    second.mkdir()
    old = store(first, "old")
    kept = store(first, "kept", max_concurrent=1)
    (tmp_path / "..data").symlink_to("..1")
    keys = loaded(tmp_path)
    keys.caller(f"Bearer {kept}").enter()
    new = store(second, "new")
    (second / "kept.json").write_bytes((first / "kept.json").read_bytes())
    (tmp_path / "..tmp").symlink_to("..2")
    (tmp_path / "..tmp").rename(tmp_path / "..data")
    keys.load()
    assert keys.caller(f"Bearer {new}").key.id == "new"
    assert refused(keys, f"Bearer {old}") is Reason.WRONG_KEY
    with pytest.raises(Refusal, match="1 requests open"):
        keys.caller(f"Bearer {kept}").enter()


def test_a_file_that_cannot_be_used_gives_no_key_and_is_named_without_its_content(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    key = store(tmp_path)
    (tmp_path / "bad.json").write_text('{"id": "bad", "hash": "s3cr3t", "scope": "x"}')
    assert loaded(tmp_path).caller(f"Bearer {key}")
    assert "bad.json is skipped: hash" in caplog.text
    assert "s3cr3t" not in caplog.text


def test_known_keys_stay_when_the_folder_is_gone(tmp_path: Path) -> None:
    folder = tmp_path / "keys"
    folder.mkdir()
    key = store(folder)
    keys = loaded(folder)
    folder.rename(tmp_path / "away")
    with pytest.raises(OSError, match="keys"):
        keys.load()
    assert keys.caller(f"Bearer {key}")


def caller(clock: list[float], **limits: int) -> Caller:
    entry = ApiKey.model_validate_json(new_entry("ci", "team-a", **limits)[1])
    return Caller(entry, lambda: clock[0])


def test_the_rate_is_a_bucket_that_fills_with_time() -> None:
    clock = [0.0]
    limited = caller(clock, requests_per_minute=3)
    for _ in range(3):
        limited.enter()
    with pytest.raises(Refusal) as caught:
        limited.enter()
    assert (caught.value.status, caught.value.headers["Retry-After"]) == (429, "20")
    clock[0] += 20.0
    limited.enter()
    with pytest.raises(Refusal):
        limited.enter()


def test_a_request_that_ends_makes_room_for_another_one() -> None:
    limited = caller([0.0], max_concurrent=2)
    limited.enter()
    limited.enter()
    with pytest.raises(Refusal) as caught:
        limited.enter()
    assert (caught.value.reason, caught.value.headers["Retry-After"]) == (Reason.CONCURRENCY, "1")
    limited.leave()
    limited.enter()


def lgos(*arguments: str) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).parent / "lgos"
    return subprocess.run(
        [program, "keys", "new", *arguments],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONWARNINGS": "error"},
    )  # fmt: skip


def test_the_command_prints_the_entry_and_shows_the_key_apart(tmp_path: Path) -> None:
    made = lgos("ci-bot", "--scope", "team-a", "--model", "a/*", "--expires-in", "90d")
    assert made.returncode == 0, made.stderr
    (tmp_path / "ci-bot.json").write_text(made.stdout)
    key = made.stderr.split()[-1]
    found = loaded(tmp_path).caller(f"Bearer {key}").key
    assert (found.models, found.requests_per_minute) == (("a/*",), None)
    assert key not in made.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("Ci_Bot", "--scope", "a"), "'Ci_Bot' cannot name a key"),
        (("ci", "--scope", ""), "--scope: String should have at least 1 character"),
        (("ci", "--scope", "a", "--max-concurrent", "0"), "--max-concurrent: Input should be"),
    ],
)
def test_the_command_names_what_is_wrong(arguments: tuple[str, ...], sentence: str) -> None:
    failed = lgos(*arguments)
    assert failed.returncode == 1
    assert failed.stderr.startswith("lgos keys: ")
    assert sentence in failed.stderr
