"""The client and its cache against a small HTTP server that speaks like an API server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web
from aiohttp.test_utils import TestServer

from lgos_kube.client import KubeClient
from lgos_kube.config import KubeConfig, load_config
from lgos_kube.errors import (
    ApiError,
    ConfigurationError,
    Conflict,
    ConnectionFailed,
    Forbidden,
    Gone,
    Invalid,
    NotFound,
    api_error,
)
from lgos_kube.listwatch import ListWatch

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Serve = Callable[[Handler], Awaitable[KubeClient]]


def thing(name: str, version: int, **extra: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "n", "resourceVersion": str(version), **extra}}


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    servers: list[TestServer] = []
    clients: list[KubeClient] = []

    async def start(handler: Handler) -> KubeClient:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", handler)
        server = TestServer(app)
        await server.start_server()
        servers.append(server)
        client = KubeClient(
            KubeConfig(str(server.make_url("")).rstrip("/"), token="t"), user_agent="test"
        )
        clients.append(await client.__aenter__())
        return client

    yield start
    for client in clients:
        await client.__aexit__()
    for server in servers:
        await server.close()


async def test_a_request_carries_the_token_and_the_answer_is_json(serve: Serve) -> None:
    seen: list[str] = []

    async def handler(request: web.Request) -> web.Response:
        seen.append(request.headers["Authorization"])
        return web.json_response(
            {"method": request.method, "query": dict(request.query), "type": request.content_type}
        )

    client = await serve(handler)
    answer = await client.apply("/x", {"a": 1}, field_manager="me")
    assert answer["query"] == {"fieldManager": "me", "force": "true"}
    assert answer["type"] == "application/apply-patch+yaml"
    assert (await client.merge_patch("/x", {}, field_manager="me"))[
        "type"
    ] == "application/merge-patch+json"
    assert seen == ["Bearer t", "Bearer t"]


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (403, Forbidden),
        (404, NotFound),
        (409, Conflict),
        (410, Gone),
        (422, Invalid),
        (500, ApiError),
    ],
)
async def test_an_error_answer_is_the_error_of_its_code(
    serve: Serve, code: int, kind: type[ApiError]
) -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.json_response({"message": "no", "reason": "Because"}, status=code)

    client = await serve(handler)
    with pytest.raises(kind, match="no") as caught:
        await client.request("GET", "/x")
    assert (caught.value.code, caught.value.reason) == (code, "Because")


async def test_an_error_that_is_not_json_is_quoted(serve: Serve) -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(text="upstream is gone", status=502)

    with pytest.raises(ApiError, match="upstream is gone"):
        await (await serve(handler)).request("GET", "/x")


async def test_no_answer_is_a_failed_connection() -> None:
    codes: list[int] = []
    config = KubeConfig("http://127.0.0.1:1")
    async with KubeClient(
        config, user_agent="test", observe=lambda _m, _p, code: codes.append(code)
    ) as client:
        with pytest.raises(ConnectionFailed, match="GET /x"):
            await client.request("GET", "/x")
        with pytest.raises(ConnectionFailed, match="watch /x"):
            await anext(client.watch("/x", resource_version="1"))
    assert codes == [0]


async def test_a_closed_client_says_how_it_is_used() -> None:
    with pytest.raises(RuntimeError, match="context manager"):
        await KubeClient(KubeConfig("http://x"), user_agent="test").request("GET", "/x")


async def test_a_list_is_read_in_pages(serve: Serve) -> None:
    async def handler(request: web.Request) -> web.Response:
        if "continue" in request.query:
            return web.json_response(
                {"items": [thing("b", 2)], "metadata": {"resourceVersion": "9"}}
            )
        return web.json_response(
            {"items": [thing("a", 1)], "metadata": {"resourceVersion": "9", "continue": "c"}}
        )

    items, version = await (await serve(handler)).list("/x", params={"labelSelector": "l"})
    assert [item["metadata"]["name"] for item in items] == ["a", "b"]
    assert version == "9"


async def test_a_watch_survives_long_lines_and_ends_in_the_error_it_is_told(serve: Serve) -> None:
    big = {"type": "ADDED", "object": thing("big", 3, note="x" * 300_000)}
    gone = {"type": "ERROR", "object": {"code": 410, "message": "too old"}}

    async def handler(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse()
        await answer.prepare(request)
        text = json.dumps(big) + "\n\n" + json.dumps(gone) + "\n"
        for start in range(0, len(text), 70_000):
            await answer.write(text[start : start + 70_000].encode())
        return answer

    client = await serve(handler)
    stream = client.watch("/x", resource_version="1")
    assert (await anext(stream))["object"]["metadata"]["name"] == "big"
    with pytest.raises(Gone):
        await anext(stream)


async def test_a_refused_watch_is_an_error(serve: Serve) -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.json_response({"message": "no"}, status=403)

    with pytest.raises(Forbidden):
        await anext((await serve(handler)).watch("/x", resource_version="1"))


async def test_a_cache_follows_and_finds_what_went_while_the_watch_was_down(serve: Serve) -> None:
    lists = [[thing("a", 1), thing("b", 2)], [thing("b", 2), thing("c", 4)]]
    watched, dropped = asyncio.Event(), asyncio.Event()
    changes: list[tuple[str, bool, bool]] = []
    relists: list[int] = []

    async def handler(request: web.Request) -> web.StreamResponse:
        if "watch" not in request.query:
            items = lists.pop(0)
            return web.json_response({"items": items, "metadata": {"resourceVersion": "5"}})
        answer = web.StreamResponse()
        await answer.prepare(request)
        events: list[dict[str, Any]] = [{"type": "ERROR", "object": {"code": 410}}]
        if not lists:
            events = [
                {"type": "MODIFIED", "object": thing("b", 6, managedFields=[1])},
                {"type": "BOOKMARK", "object": thing("", 7)},
                {"type": "DELETED", "object": thing("c", 8)},
            ]
        for event in events:
            await answer.write(json.dumps(event).encode() + b"\n")
        if not lists:
            await watched.wait()
        return answer

    def changed(key: tuple[str, str], old: object, new: object) -> None:
        changes.append((key[1], old is not None, new is not None))
        if key[1] == "c" and new is None:
            dropped.set()

    client = await serve(handler)
    cache = ListWatch(
        client,
        "/x",
        changed=changed,
        relisted=lambda: relists.append(1),
    )
    task = asyncio.create_task(cache.run())
    async with asyncio.timeout(10):
        await dropped.wait()
    assert cache.objects == {("n", "b"): thing("b", 6)}
    assert ("a", True, False) in changes
    assert relists == [1]
    assert cache.restarts == 1
    cache.remember(thing("b", 9))
    cache.remember(thing("b", 7))
    assert cache.objects["n", "b"]["metadata"]["resourceVersion"] == "9"
    task.cancel()
    watched.set()
    await asyncio.gather(task, return_exceptions=True)


def test_a_retry_hint_of_the_api_server_is_kept() -> None:
    assert api_error(429, {"details": {"retryAfterSeconds": 3}}).retry_after_seconds == 3
    assert api_error(500, {}).message == "HTTP 500"


def kubeconfig(folder: Path, **user: Any) -> Path:
    path = folder / "config"
    document = {
        "current-context": "c",
        "contexts": [
            {"name": "c", "context": {"cluster": "k", "user": "u", "namespace": "team-a"}}
        ],
        "clusters": [{"name": "k", "cluster": {"server": "http://127.0.0.1:8001/"}}],
        "users": [{"name": "u", "user": user}],
    }
    path.write_text(yaml.safe_dump(document))
    return path


def test_a_kubeconfig_gives_server_token_and_namespace(tmp_path: Path) -> None:
    found = load_config(kubeconfig(tmp_path, token="t"))
    assert (found.server, found.namespace) == ("http://127.0.0.1:8001", "team-a")
    assert found.headers() == {"Authorization": "Bearer t"}
    secret = tmp_path / "token"
    secret.write_text("rotated\n")
    assert (
        load_config(kubeconfig(tmp_path, tokenFile=str(secret))).headers()["Authorization"]
        == "Bearer rotated"
    )


def test_a_kubeconfig_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="plugin"):
        load_config(kubeconfig(tmp_path, exec={}))
    with pytest.raises(ConfigurationError, match="cannot read"):
        load_config(tmp_path / "none")
    broken = kubeconfig(tmp_path)
    broken.write_text(broken.read_text().replace("current-context: c", "current-context: other"))
    with pytest.raises(ConfigurationError, match="no entry 'other' in contexts"):
        load_config(broken)
