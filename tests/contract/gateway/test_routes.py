"""Lists, routes and errors as clients see them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import aiohttp
import pytest

from gateway_kit.served import (
    Served,
    chat_request,
    data_of,
    entry,
    error_of,
    free_port,
    gateway,
    raw_post,
    read_head,
)
from gateway_kit.upstream import Connection, Received, Upstream, listening

POSTS = ("/v1/chat/completions", "/v1/responses")


@pytest.fixture
async def upstream() -> AsyncIterator[Upstream]:
    async with listening() as api:
        yield api


@pytest.fixture
async def served(upstream: Upstream) -> AsyncIterator[Served]:
    async with gateway() as running:
        running.catalog.put("team-a", data_of(entry("echo", upstream.base_url)))
        yield running


@pytest.fixture
async def client(served: Served) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(served.url) as session:
        yield session


async def test_the_list_has_the_models_of_the_catalog(
    client: aiohttp.ClientSession, served: Served
) -> None:
    async with client.get("/v1/models") as answer:
        assert answer.status == 200
        assert answer.content_type == "application/json"
        assert await answer.read() == served.catalog.listing
        assert [model["id"] for model in (await answer.json())["data"]] == ["echo"]


async def test_a_new_model_is_listed_and_routed_at_once(
    client: aiohttp.ClientSession, served: Served, upstream: Upstream
) -> None:
    served.catalog.put("team-b", data_of(entry("new", upstream.base_url, namespace="team-b")))
    async with client.get("/v1/models") as answer:
        assert [model["id"] for model in (await answer.json())["data"]] == ["echo", "new"]
    async with client.post("/v1/responses", json={"model": "new"}) as answer:
        assert answer.status == 200


@pytest.mark.parametrize("path", POSTS)
async def test_a_request_reaches_the_models_api_unchanged(
    path: str, client: aiohttp.ClientSession, upstream: Upstream
) -> None:
    body = b'{ "model" : "echo",\n "input":"h\\u00e9 \xf0\x9f\x98\x80", "n": 1.0e0 }'
    headers = {"Authorization": "Bearer k", "Content-Type": "application/json", "X-Custom": "1"}
    async with client.post(f"{path}?a=1", data=body, headers=headers) as answer:
        assert answer.status == 200
    [request] = upstream.requests
    assert (request.method, request.target, request.body) == ("POST", path, body)
    assert request.headers["Host"] == f"127.0.0.1:{upstream.port}"
    assert request.headers["Authorization"] == "Bearer k"
    assert request.headers["X-Custom"] == "1"


async def test_nothing_is_added_to_a_request_but_host_length_and_request_id(
    served: Served, upstream: Upstream
) -> None:
    reader, writer = await served.connect()
    writer.write(chat_request())
    await read_head(reader)
    writer.close()
    assert sorted(upstream.requests[0].headers) == [
        "Content-Length",
        "Content-Type",
        "Host",
        "X-Request-Id",
    ]


@pytest.mark.parametrize("path", POSTS)
async def test_a_trailing_slash_is_the_same_route(
    path: str, client: aiohttp.ClientSession, upstream: Upstream
) -> None:
    async with client.post(f"{path}/", json={"model": "echo"}, allow_redirects=False) as answer:
        assert answer.status == 200
    assert upstream.requests[0].target == path


async def test_one_model_is_described_by_its_own_api(
    client: aiohttp.ClientSession, served: Served, upstream: Upstream
) -> None:
    served.catalog.put("team-a", data_of(entry("org/echo", upstream.base_url)))
    for path in ("/v1/models/org/echo", "/v1/models/org%2Fecho"):
        async with client.get(aiohttp.client.URL(path, encoded=True)) as answer:
            assert answer.status == 200
            assert (await answer.json())["target"] == "/v1/models/org/echo"
    assert {request.method for request in upstream.requests} == {"GET"}


@pytest.mark.parametrize("path", POSTS)
async def test_an_unknown_model_gets_exactly_the_documented_error(
    path: str, client: aiohttp.ClientSession
) -> None:
    async with client.post(path, json={"model": "missing"}) as answer:
        assert answer.status == 404
        assert await answer.json() == {
            "error": {
                "message": "Graph 'missing' not found in registry.",
                "type": "invalid_request_error",
                "param": "model",
                "code": None,
            }
        }


async def test_an_unknown_model_is_not_described(client: aiohttp.ClientSession) -> None:
    async with client.get("/v1/models/missing") as answer:
        assert answer.status == 404
        assert (await error_of(answer))["param"] == "model"


@pytest.mark.parametrize(
    ("raw", "param"), [(b"", None), (b'{"model":', None), (b"[1,2]", None), (b"{}", "model")]
)
async def test_a_bad_body_is_a_400_in_the_envelope(
    raw: bytes, param: str | None, client: aiohttp.ClientSession, upstream: Upstream
) -> None:
    async with client.post("/v1/responses", data=raw) as answer:
        assert answer.status == 400
        error = await error_of(answer)
    assert (error["type"], error["param"]) == ("invalid_request_error", param)
    assert upstream.requests == []


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/", 404, "unknown_url"),
        ("POST", "/v1/embeddings", 404, "unknown_url"),
        ("GET", "/v1/responses/resp_1/input_items", 404, "unknown_url"),
        ("GET", "/v1/chat/completions", 405, "method_not_allowed"),
        ("DELETE", "/v1/models/echo", 405, "method_not_allowed"),
        ("POST", "/v1/models", 405, "method_not_allowed"),
        ("GET", "/v1/responses/resp_1", 404, None),
        ("POST", "/v1/responses/resp_1/cancel", 404, None),
    ],
)
async def test_what_is_not_there_is_said_in_the_envelope(
    method: str, path: str, status: int, code: str | None, client: aiohttp.ClientSession
) -> None:
    async with client.request(method, path) as answer:
        assert answer.status == status
        error = await error_of(answer)
        assert (error["type"], error["code"]) == ("invalid_request_error", code)
        assert ("Allow" in answer.headers) is (status == 405)


async def test_a_response_id_is_unknown_as_long_as_none_is_kept(
    client: aiohttp.ClientSession,
) -> None:
    async with client.get("/v1/responses/resp_1") as answer:
        error = await error_of(answer)
    assert error["message"] == "Response 'resp_1' not found."
    assert error["param"] == "response_id"


async def test_a_body_over_the_limit_is_refused_by_its_length() -> None:
    async with gateway(max_body_bytes=1000) as served:
        reader, writer = await served.connect()
        # Only the headers are sent: the answer must not wait for the body.
        writer.write(raw_post("/v1/responses", b"x" * 1001)[:-1001])
        status, headers = await read_head(reader)
        assert status == 413
        body = json.loads(await reader.readexactly(int(headers["content-length"])))
        assert body["error"]["code"] == "request_too_large"
        writer.close()


async def test_a_chunked_body_over_the_limit_is_refused_while_it_comes() -> None:
    async with gateway(max_body_bytes=100_000) as served:
        reader, writer = await served.connect()
        writer.write(
            b"POST /v1/responses HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        piece = b"%x\r\n%b\r\n" % (65536, b" " * 65536)
        answered = asyncio.create_task(read_head(reader))
        sent = 0
        while not answered.done() and sent < 64 * 2**20:
            writer.write(piece)
            sent += len(piece)
            await asyncio.wait((answered,), timeout=0.01)
        status, headers = await answered
        assert status == 413
        assert headers["content-type"].startswith("application/json")
        assert sent < 2**21
        writer.close()


async def test_a_body_at_the_limit_passes_whole(upstream: Upstream) -> None:
    async with gateway(max_body_bytes=3 * 2**20) as served:
        served.catalog.put("team-a", data_of(entry("echo", upstream.base_url)))
        body = json.dumps({"model": "echo", "input": ""}).encode()
        body = body[:-2] + b"x" * (3 * 2**20 - len(body)) + body[-2:]
        async with aiohttp.ClientSession(served.url) as client:
            chunks = (body[at : at + 100_000] for at in range(0, len(body), 100_000))

            async def slowly() -> AsyncIterator[bytes]:
                for chunk in chunks:
                    yield chunk

            async with client.post("/v1/responses", data=slowly()) as answer:
                assert answer.status == 200
        assert upstream.requests[0].body == body


async def test_a_compressed_body_is_refused_by_name(client: aiohttp.ClientSession) -> None:
    headers = {"Content-Encoding": "gzip"}
    async with client.post("/v1/responses", data=b"\x1f\x8b", headers=headers) as answer:
        assert answer.status == 415
        assert "gzip" in (await error_of(answer))["message"]


HEAD = b"POST /v1/responses HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    "parts",
    [
        (HEAD + b"zz\r\n",),
        (HEAD + b"5\r\nabcde\r\nzz\r\n",),
        (b"GET /%zz\xff HTTP/1.1\r\n\r\n",),
    ],
    ids=["first chunk", "second chunk", "path"],
)
async def test_what_is_no_http_is_a_400_in_the_envelope_and_quoted_nowhere(
    parts: tuple[bytes, ...], served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    reader, writer = await served.connect()
    for part in parts:
        writer.write(part)
        await asyncio.sleep(0)
    status, headers = await read_head(reader)
    body = await reader.readexactly(int(headers["content-length"]))
    assert status == 400
    assert json.loads(body)["error"]["message"] == "The request is not valid HTTP."
    assert headers["server"] == "lgos-gateway"
    assert await reader.read() == b"", "the connection ends"
    assert "zz" not in caplog.text
    writer.close()


@pytest.mark.parametrize("begun", [b"", b"5\r\nabcde\r\n"], ids=["first chunk", "later chunk"])
async def test_a_body_that_breaks_while_it_is_read_is_refused_at_once(
    begun: bytes, served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    reader, writer = await served.connect()
    # The invitation to send shows that the handler reads.
    writer.write(HEAD[:-2] + b"Expect: 100-continue\r\n\r\n")
    assert (await read_head(reader))[0] == 100
    writer.write(begun + b"zz\r\n")
    status, headers = await read_head(reader)
    assert status == 400
    body = json.loads(await reader.readexactly(int(headers["content-length"])))
    assert body["error"]["message"] == "The request is not valid HTTP."
    assert await reader.read() == b"", "the connection ends"
    assert not [record for record in caplog.records if record.exc_info], "no traceback"
    writer.close()


async def test_a_client_that_waits_to_send_its_body_may_send_it(served: Served) -> None:
    body = b'{"model": "echo"}'
    request = raw_post("/v1/responses", body, extra="Expect: 100-continue\r\n")
    reader, writer = await served.connect()
    writer.write(request[: -len(body)])
    assert (await read_head(reader))[0] == 100
    writer.write(body)
    assert (await read_head(reader))[0] == 200
    writer.close()


async def test_a_client_is_not_asked_for_a_body_that_is_too_large() -> None:
    async with gateway(max_body_bytes=10) as served:
        reader, writer = await served.connect()
        request = raw_post("/v1/responses", b"x" * 11, extra="Expect: 100-continue\r\n")
        writer.write(request[:-11])
        assert (await read_head(reader))[0] == 413
        writer.close()


async def test_a_body_that_stalls_is_a_408() -> None:
    async with gateway(body_timeout_seconds=0.1) as served:
        reader, writer = await served.connect()
        writer.write(HEAD + b"5\r\nabcde\r\n")
        status, headers = await read_head(reader)
        assert status == 408
        body = json.loads(await reader.readexactly(int(headers["content-length"])))
        assert body["error"]["code"] == "request_timeout"
        writer.close()


async def test_a_proxys_absolute_url_is_a_path(served: Served) -> None:
    reader, writer = await served.connect()
    writer.write(b"GET http://gateway/v1/models HTTP/1.1\r\nHost: gateway\r\n\r\n")
    assert (await read_head(reader))[0] == 200
    writer.close()


async def test_an_unreachable_model_is_a_503_that_says_when_to_come_back(
    client: aiohttp.ClientSession, served: Served
) -> None:
    dead = f"http://127.0.0.1:{free_port()}/v1"
    served.catalog.put("team-b", data_of(entry("down", dead, namespace="team-b")))
    async with client.post("/v1/responses", json={"model": "down"}) as answer:
        assert answer.status == 503
        assert int(answer.headers["Retry-After"]) > 0
        error = await error_of(answer)
    assert (error["type"], error["code"]) == ("server_error", "model_unavailable")
    assert "'down'" in error["message"]


async def test_a_name_that_does_not_resolve_is_a_503(
    client: aiohttp.ClientSession, served: Served
) -> None:
    served.catalog.put("team-b", data_of(entry("lost", namespace="team-b")))
    async with client.post("/v1/responses", json={"model": "lost"}) as answer:
        assert answer.status == 503


async def test_a_model_that_hangs_up_before_its_headers_is_a_502(
    client: aiohttp.ClientSession, upstream: Upstream
) -> None:
    async def hang_up(_received: Received, connection: Connection) -> None:
        connection.close()

    upstream.script = hang_up
    async with client.post("/v1/responses", json={"model": "echo"}) as answer:
        assert answer.status == 502
        assert (await error_of(answer))["type"] == "server_error"
    assert len(upstream.requests) == 1, "a request that may have run must not be sent again"


async def test_a_model_that_hangs_up_within_a_short_answer_is_a_502(
    client: aiohttp.ClientSession, upstream: Upstream
) -> None:
    async def half(_received: Received, connection: Connection) -> None:
        await connection.send(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{"
        )
        connection.close()

    upstream.script = half
    async with client.post("/v1/responses", json={"model": "echo"}) as answer:
        assert answer.status == 502


async def test_a_silent_model_is_a_504() -> None:
    async def say_nothing(_received: Received, connection: Connection) -> None:
        await connection.closed_by_peer()

    async with listening(say_nothing) as upstream, gateway(read_timeout_seconds=0.2) as served:
        served.catalog.put("team-a", data_of(entry("echo", upstream.base_url)))
        async with (
            aiohttp.ClientSession(served.url) as client,
            client.post("/v1/responses", json={"model": "echo"}) as answer,
        ):
            assert answer.status == 504
            assert (await error_of(answer))["code"] == "model_timeout"


async def test_errors_of_the_model_pass_through_as_they_are(
    client: aiohttp.ClientSession, upstream: Upstream
) -> None:
    body = b'{"error": {"message": "no",  "type": "x"}}'

    async def refuse(_received: Received, connection: Connection) -> None:
        await connection.answer(body, status="409 Conflict")

    upstream.script = refuse
    async with client.post("/v1/responses", json={"model": "echo"}) as answer:
        assert answer.status == 409
        assert await answer.read() == body


async def test_the_request_id_goes_to_the_model_and_back(
    client: aiohttp.ClientSession, upstream: Upstream
) -> None:
    headers = {"X-Request-Id": "mine"}
    async with client.post("/v1/responses", json={"model": "echo"}, headers=headers) as answer:
        assert answer.headers.getall("X-Request-Id") == ["mine"]
    async with client.post("/v1/responses", json={"model": "echo"}) as answer:
        made = answer.headers["X-Request-Id"]
    assert [request.headers["X-Request-Id"] for request in upstream.requests] == ["mine", made]
    async with client.get("/v1/nothing", headers=headers) as answer:
        assert answer.headers["X-Request-Id"] == "mine"


async def test_no_answer_names_the_software_or_its_version(client: aiohttp.ClientSession) -> None:
    for path in ("/v1/models", "/v1/models/echo", "/nothing"):
        async with client.get(path) as answer:
            assert answer.headers["Server"] == "lgos-gateway"


async def test_readiness_tells_what_is_missing_and_liveness_does_not_care(
    client: aiohttp.ClientSession, served: Served
) -> None:
    async with client.get("/readyz") as answer:
        assert answer.status == 200
    served.problem = "waiting for the model registry"
    async with client.get("/readyz") as answer:
        assert (answer.status, await answer.text()) == (503, "waiting for the model registry")
    async with client.get("/healthz") as answer:
        assert answer.status == 200


async def test_requests_are_counted_by_model_and_code(
    client: aiohttp.ClientSession, served: Served
) -> None:
    name = "lgos_gateway_requests_total"
    assert served.sample(name, model="echo", code="200") == 0
    for model in ("echo", "echo", "missing", "hostile-" + "x" * 50):
        async with client.post("/v1/responses", json={"model": model}) as answer:
            await answer.read()
    assert served.sample(name, model="echo", code="200") == 2
    assert served.sample(name, model="other", code="404") == 2
    assert served.sample("lgos_gateway_upstream_seconds_count", model="echo") == 2
    assert served.sample("lgos_gateway_models") == 1
    async with client.get(served.metrics_url) as answer:
        text = await answer.text()
    assert 'lgos_build_info{component="gateway"' in text
    assert "lgos_gateway_registry_age_seconds" in text
    assert "hostile" not in text
