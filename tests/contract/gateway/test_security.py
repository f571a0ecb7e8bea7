"""Each attack of the table in docs/reference/security.md, against a running gateway with API keys."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from gateway_kit.served import (
    DEADLINE_SECONDS,
    Served,
    data_of,
    entry,
    error_of,
    gateway,
    raw_post,
    read_head,
)
from gateway_kit.upstream import Connection, Received, Upstream, listening
from langgraph_openai_serve.cli.keys import new_entry
from lgos_contract.scope import SCOPE_HEADER, ScopeVerifier

SCOPE_KEY = b"k" * 32
CHAT = "/v1/chat/completions"
BODY = json.dumps({"model": "a/echo", "messages": []}).encode()


class Keyed:
    """A gateway with keys, the model behind it and the key of `team-a`."""

    def __init__(self, served: Served, upstream: Upstream, folder: Path, key: str) -> None:
        self.served = served
        self.upstream = upstream
        self.folder = folder
        self.key = key

    @property
    def bearer(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"}

    def refused(self, reason: str) -> float | None:
        return self.served.sample("lgos_gateway_refused_total", reason=reason)

    async def raw(self, request: bytes) -> tuple[int, bytes]:
        """Send bytes; return the answer's status and all bytes until the connection ends."""
        reader, writer = await self.served.connect()
        writer.write(request)
        try:
            status, headers = await read_head(reader)
            async with asyncio.timeout(DEADLINE_SECONDS):
                return status, await reader.readexactly(int(headers["content-length"]))
        finally:
            writer.close()


@pytest.fixture
async def keyed(tmp_path: Path) -> AsyncIterator[Keyed]:
    key, stored = new_entry("team-a", "scope-a", models=["a/*"])
    (tmp_path / "team-a.json").write_text(stored)
    async with (
        listening() as upstream,
        gateway(api_keys_dir=tmp_path, scope_keys=(SCOPE_KEY,), header_timeout_seconds=1) as served,
    ):
        served.catalog.put(
            "team-a",
            data_of(entry("a/echo", upstream.base_url), entry("b/other", upstream.base_url)),
        )
        yield Keyed(served, upstream, tmp_path, key)


@pytest.fixture
async def client(keyed: Keyed) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(keyed.served.url) as session:
        yield session


@pytest.mark.parametrize(
    ("headers", "reason"),
    [
        ({}, "no_key"),
        ({"Authorization": "Basic dTpw"}, "no_key"),
        ({"Authorization": "Bearer sk-wrong"}, "wrong_key"),
        ({"Authorization": "Bearer lgos_sk_team-a_guess"}, "wrong_key"),
    ],
    ids=["none", "basic", "foreign", "guessed"],
)
@pytest.mark.parametrize(
    "path", ["/v1/models", "/v1/models/a/echo", "/v1/nothing", "/v1/responses/x"]
)
async def test_nothing_is_told_without_a_valid_key(
    client: aiohttp.ClientSession, keyed: Keyed, headers: dict[str, str], reason: str, path: str
) -> None:
    async with client.get(path, headers=headers) as answer:
        assert answer.status == 401
        assert answer.headers["WWW-Authenticate"] == "Bearer"
        assert (await error_of(answer))["code"] == "invalid_api_key"
    assert keyed.refused(reason) == 1
    assert keyed.upstream.requests == []


async def test_a_body_is_not_read_without_a_key(keyed: Keyed) -> None:
    status, _ = await keyed.raw(raw_post(CHAT, b"", "Expect: 100-continue\r\n"))
    assert status == 401


async def test_health_needs_no_key(client: aiohttp.ClientSession) -> None:
    for path in ("/healthz", "/readyz"):
        async with client.get(path) as answer:
            assert answer.status == 200


async def test_a_model_of_another_team_is_unknown(
    client: aiohttp.ClientSession, keyed: Keyed
) -> None:
    async with client.get("/v1/models", headers=keyed.bearer) as answer:
        assert [model["id"] for model in (await answer.json())["data"]] == ["a/echo"]
    errors = []
    for model in ("b/other", "b/nobody"):
        async with client.post(CHAT, json={"model": model}, headers=keyed.bearer) as answer:
            assert answer.status == 404
            errors.append(json.dumps(await error_of(answer)).replace(model, "MODEL"))
    assert errors[0] == errors[1]
    assert keyed.refused("model") == 2
    assert keyed.upstream.requests == []


async def test_the_model_gets_the_signed_scope_and_never_the_key(
    client: aiohttp.ClientSession, keyed: Keyed
) -> None:
    forged = {SCOPE_HEADER: "v1.forged", SCOPE_HEADER.lower(): "v1.again"}
    async with client.post(CHAT, data=BODY, headers={**keyed.bearer, **forged}) as answer:
        assert answer.status == 200
    async with client.get("/v1/models/a/echo", headers=keyed.bearer) as answer:
        assert answer.status == 200
    for received in keyed.upstream.requests:
        [value] = [v for name, v in received.headers.items() if name.lower() == "x-lgos-scope"]
        verifier = ScopeVerifier([SCOPE_KEY], "a/echo")
        assert verifier.scope(value, method=received.method, path=received.target) == "scope-a"
        assert keyed.key not in str(received.headers)


@pytest.mark.parametrize(
    "target",
    [
        "//v1/models",
        "/v1//models",
        "/v1/%6dodels",
        "/v1%2fmodels",
        "/healthz/../v1/models",
        "/healthz%2f..%2fv1/models",
        "/v1/./models",
        "/V1/models",
        "/v1/models;x",
        "/v1/models/..%2f..%2fhealthz",
        "/v1/models/a%2f..%2fb%2fother",
        "/v1/models/b%2fother",
        "/v1/models/a/echo%00",
        "/metrics",
    ],
)
async def test_a_path_trick_finds_nothing(keyed: Keyed, target: str) -> None:
    head = f"GET {target} HTTP/1.1\r\nHost: gateway\r\n"
    status, _ = await keyed.raw(f"{head}\r\n".encode())
    assert status == 401
    status, body = await keyed.raw(f"{head}Authorization: Bearer {keyed.key}\r\n\r\n".encode())
    assert status == 404
    assert json.loads(body)["error"]["type"] == "invalid_request_error"
    assert keyed.refused("path") or keyed.refused("model")
    assert keyed.upstream.requests == []


SMUGGLED = b"GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.mark.parametrize(
    "fields",
    [
        "Content-Length: 5\r\nContent-Length: 6\r\n",
        "Content-Length: 5\r\nContent-Length: 5\r\n",
        "Content-Length: 5, 5\r\n",
        "Content-Length: +5\r\n",
        "Content-Length: -1\r\n",
        "Content-Length: 0x5\r\n",
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
        "Transfer-Encoding: chunked, identity\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding : chunked\r\n",
        "X-One: a\r\n b\r\n",
        "X-One: a\r\n\tTransfer-Encoding: chunked\r\n",
        " X-One: a\r\n",
        "X-One\r\n",
        "X One: a\r\n",
        "X-One: a\rb\r\n",
        "X-One: a\x00b\r\n",
        "X-One: a\nTransfer-Encoding: chunked\r\n",
    ],
)
async def test_ambiguous_headers_are_refused_and_the_connection_ends(
    keyed: Keyed, fields: str
) -> None:
    head = f"POST {CHAT} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {keyed.key}\r\n{fields}\r\n"
    reader, writer = await keyed.served.connect()
    writer.write(head.encode("latin-1") + b"0\r\n\r\n" + SMUGGLED)
    async with asyncio.timeout(DEADLINE_SECONDS):
        answers = await reader.read(-1)
    writer.close()
    assert answers.split(b" ", 2)[1] == b"400"
    assert answers.count(b"HTTP/1.") == 1
    assert keyed.refused("http") == 1
    assert keyed.upstream.requests == []


async def test_two_keys_in_one_request_are_refused(keyed: Keyed) -> None:
    fields = f"Authorization: Bearer {keyed.key}\r\nAuthorization: Bearer x\r\n"
    status, _ = await keyed.raw(raw_post(CHAT, BODY, fields))
    assert status == 400
    assert keyed.refused("http") == 1


async def test_headers_of_one_connection_do_not_pass(keyed: Keyed) -> None:
    fields = (
        f"Authorization: Bearer {keyed.key}\r\nConnection: X-Mine, keep-alive\r\nX-Mine: 1\r\n"
        "Keep-Alive: 5\r\nTE: trailers\r\nProxy-Authorization: x\r\nX-Kept: 1\r\n"
    )
    status, _ = await keyed.raw(raw_post(CHAT, BODY, fields))
    assert status == 200
    [received] = keyed.upstream.requests
    names = {name.lower() for name in received.headers}
    assert "x-kept" in names
    assert not names & {"x-mine", "keep-alive", "te", "proxy-authorization", "authorization"}


@pytest.mark.parametrize("sent", [b"GET /v1/models HTTP/1.1\r\nHost: x\r\nX-Slow: ", b""])
async def test_headers_that_never_end_are_refused_in_time(keyed: Keyed, sent: bytes) -> None:
    reader, writer = await keyed.served.connect()
    writer.write(sent)
    async with asyncio.timeout(DEADLINE_SECONDS):
        answer = await reader.read(-1)
    writer.close()
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["code"] == "request_timeout"
    # The kit's own first connection, which proved that the gateway listens, may be counted as well.
    assert (keyed.refused("timeout") or 0) >= 1


async def test_a_key_that_is_added_or_taken_away_counts_soon(
    client: aiohttp.ClientSession, keyed: Keyed
) -> None:
    async def until(status: int, key: str) -> None:
        async with asyncio.timeout(DEADLINE_SECONDS):
            while True:
                headers = {"Authorization": f"Bearer {key}"}
                async with client.get("/v1/models", headers=headers) as answer:
                    if answer.status == status:
                        return
                await asyncio.sleep(0.05)

    key, stored = new_entry("later", "scope-b")
    await until(401, key)
    (keyed.folder / "later.json").write_text(stored)
    await until(200, key)
    (keyed.folder / "later.json").unlink()
    await until(401, key)
    await until(200, keyed.key)


async def test_a_limit_holds_for_open_streams_and_is_free_when_they_end(
    client: aiohttp.ClientSession, keyed: Keyed
) -> None:
    release = asyncio.Event()

    async def held(_received: Received, connection: Connection) -> None:
        await connection.begin_stream()
        await connection.chunk(b"data: 1\n\n")
        await release.wait()
        await connection.end_stream()

    keyed.upstream.script = held
    key, stored = new_entry("two", "scope-a", max_concurrent=2, requests_per_minute=4)
    (keyed.folder / "two.json").write_text(stored)
    async with asyncio.timeout(DEADLINE_SECONDS):
        await keyed.served.until_sample(2, "lgos_gateway_api_keys")
    headers = {"Authorization": f"Bearer {key}"}
    streams = [await client.post(CHAT, data=BODY, headers=headers) for _ in range(2)]
    async with client.post(CHAT, data=BODY, headers=headers) as answer:
        assert answer.status == 429
        assert answer.headers["Retry-After"] == "1"
        assert (await error_of(answer))["code"] == "rate_limit_exceeded"
    assert keyed.refused("concurrency") == 1
    release.set()
    for stream in streams:
        assert await stream.read() == b"data: 1\n\n"
    for _ in range(2):
        async with client.post(CHAT, data=BODY, headers=headers) as answer:
            assert answer.status == 200
            await answer.read()
    async with client.post(CHAT, data=BODY, headers=headers) as answer:
        assert answer.status == 429
        assert int(answer.headers["Retry-After"]) in range(1, 16)
    assert keyed.refused("rate") == 1
    # Another key is not touched by it.
    async with client.get("/v1/models", headers=keyed.bearer) as answer:
        assert answer.status == 200
