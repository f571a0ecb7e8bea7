from __future__ import annotations

from multidict import CIMultiDict, CIMultiDictProxy

from lgos_gateway import headers


def given(*pairs: tuple[str, str]) -> CIMultiDictProxy[str]:
    return CIMultiDictProxy(CIMultiDict(pairs))


def test_hop_by_hop_headers_and_those_that_connection_names_are_dropped() -> None:
    passed = headers.to_model(
        given(
            ("Host", "gateway"),
            ("Connection", "keep-alive, X-Hop"),
            ("X-Hop", "1"),
            ("Keep-Alive", "timeout=5"),
            ("Transfer-Encoding", "chunked"),
            ("Content-Length", "3"),
            ("Authorization", "Bearer k"),
            ("X-Two", "1"),
            ("X-Two", "2"),
        ),
        "id-1",
    )
    assert list(passed.items()) == [
        ("Authorization", "Bearer k"),
        ("X-Two", "1"),
        ("X-Two", "2"),
        ("X-Request-Id", "id-1"),
    ]


def test_a_models_headers_pass_and_its_server_name_does_not() -> None:
    passed = headers.to_client(
        given(
            ("Content-Type", "text/event-stream"),
            ("Server", "uvicorn"),
            ("X-Lgos-Ignored-Fields", "seed"),
            ("Transfer-Encoding", "chunked"),
        ),
        "id-1",
    )
    assert dict(passed) == {
        "Content-Type": "text/event-stream",
        "X-Lgos-Ignored-Fields": "seed",
        "Server": "lgos-gateway",
        "X-Request-Id": "id-1",
    }


def test_a_usable_request_id_is_kept() -> None:
    assert headers.request_id(given(("x-request-id", "abc-1"))) == "abc-1"


def test_a_missing_or_unusable_request_id_is_replaced_by_a_new_one() -> None:
    made = {headers.request_id(given(("x-request-id", bad))) for bad in ("", "a b", "x" * 129)}
    made.add(headers.request_id(given()))
    assert len(made) == 4
    assert all(len(each) == 32 and each.isalnum() for each in made)
