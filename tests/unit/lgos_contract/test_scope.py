from __future__ import annotations

import time

import pytest

from lgos_contract.scope import (
    WINDOW_SECONDS,
    ScopeRefusedError,
    ScopeVerifier,
    parse_scope_keys,
    sign_scope,
)

OLD, NEW = b"o" * 32, b"n" * 32
PATH = "/v1/chat/completions"


def signed(key: bytes = NEW, scope: str = "team-ä\n", model: str = "echo") -> str:
    return sign_scope(key, scope, method="POST", path=PATH, model=model)


def test_a_signed_scope_is_read_back() -> None:
    assert ScopeVerifier([NEW], "echo").scope(signed(), method="POST", path=PATH) == "team-ä\n"


def test_both_keys_of_a_rotation_are_taken_and_no_other() -> None:
    verifier = ScopeVerifier([NEW, OLD], "echo")
    for key in (OLD, NEW):
        assert verifier.scope(signed(key), method="POST", path=PATH)
    with pytest.raises(ScopeRefusedError, match="signature"):
        verifier.scope(signed(b"x" * 32), method="POST", path=PATH)


@pytest.mark.parametrize(
    ("method", "path", "model"),
    [("GET", PATH, "echo"), ("POST", "/v1/responses", "echo"), ("POST", PATH, "other")],
    ids=["method", "path", "model"],
)
def test_a_header_is_of_no_use_for_another_request(method: str, path: str, model: str) -> None:
    with pytest.raises(ScopeRefusedError, match="signature"):
        ScopeVerifier([NEW], model).scope(signed(), method=method, path=path)


def test_every_changed_character_is_noticed() -> None:
    value = signed()
    verifier = ScopeVerifier([NEW], "echo")
    for at, character in enumerate(value):
        forged = value[:at] + ("0" if character != "0" else "1") + value[at + 1 :]
        with pytest.raises(ScopeRefusedError):
            verifier.scope(forged, method="POST", path=PATH)
    assert verifier.scope(value, method="POST", path=PATH)


@pytest.mark.parametrize("value", ["", ".", "v1....", "ä", "v1.0.0.0.0", "." * 9000])
def test_what_is_no_header_of_the_gateway_is_refused(value: str) -> None:
    with pytest.raises(ScopeRefusedError):
        ScopeVerifier([NEW], "echo").scope(value, method="POST", path=PATH)


@pytest.mark.parametrize("shift", [WINDOW_SECONDS + 2, -WINDOW_SECONDS - 2])
def test_a_header_outside_the_window_is_refused(shift: int) -> None:
    verifier = ScopeVerifier([NEW], "echo", clock=lambda: time.time() + shift)
    with pytest.raises(ScopeRefusedError, match="60 seconds"):
        verifier.scope(signed(), method="POST", path=PATH)


def test_a_replayed_header_is_refused_for_as_long_as_it_is_valid() -> None:
    now = time.time()
    clock = [now - WINDOW_SECONDS + 1]
    verifier = ScopeVerifier([NEW], "echo", clock=lambda: clock[0])
    value = signed()
    verifier.scope(value, method="POST", path=PATH)
    for at in (now, now + WINDOW_SECONDS - 1):
        clock[0] = at
        with pytest.raises(ScopeRefusedError, match="used before"):
            verifier.scope(value, method="POST", path=PATH)


def test_nonces_are_forgotten_after_the_window() -> None:
    clock = [time.time()]
    verifier = ScopeVerifier([NEW], "echo", clock=lambda: clock[0])
    for _ in range(100):
        verifier.scope(signed(), method="POST", path=PATH)
    assert len(verifier._seen) == 100
    clock[0] += 2 * WINDOW_SECONDS + 2
    with pytest.raises(ScopeRefusedError):
        verifier.scope(signed(), method="POST", path=PATH)
    clock[0] -= WINDOW_SECONDS + 2
    verifier._use("n", clock[0] + 2 * WINDOW_SECONDS + 2)
    assert verifier._seen == {"n"}


@pytest.mark.parametrize(
    ("text", "problem"), [("short", "less than 32"), (",".join(["k" * 32] * 3), "3 keys")]
)
def test_a_key_setting_that_cannot_be_used_is_refused_with_the_next_step(
    text: str, problem: str
) -> None:
    with pytest.raises(ValueError, match=problem):
        parse_scope_keys(text)
    assert parse_scope_keys(f" {'a' * 32} , {'b' * 32}\n") == (b"a" * 32, b"b" * 32)
    assert parse_scope_keys("") == ()
