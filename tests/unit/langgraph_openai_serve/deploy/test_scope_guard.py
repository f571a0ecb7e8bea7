from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from langgraph_openai_serve.deploy.scope_guard import ScopeGuard, owner_of
from lgos_contract.scope import SCOPE_HEADER, ScopeVerifier, sign_scope

KEY = b"k" * 32
PATH = "/v1/chat/completions"


class Recorder:
    """An application that answers with the owner and keeps the callables that it got."""

    def __init__(self) -> None:
        self.given: list[tuple[Receive, Send]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.given.append((receive, send))
        owner = owner_of(Request(scope)) if "lgos.owner" in scope else "-"
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": owner.encode()})


@pytest.fixture
def app() -> Recorder:
    return Recorder()


@pytest.fixture
async def client(app: Recorder) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(ScopeGuard(app, ScopeVerifier([KEY], "echo")))
    async with httpx.AsyncClient(transport=transport, base_url="http://api") as session:
        yield session


def header(scope: str = "team-a", **changes: Any) -> list[tuple[str, str]]:
    facts: dict[str, Any] = {"method": "POST", "path": PATH, "model": "echo", **changes}
    return [(SCOPE_HEADER, sign_scope(facts.pop("key", KEY), scope, **facts))]


async def test_a_signed_request_passes_with_its_owner(client: httpx.AsyncClient) -> None:
    answer = await client.post(PATH, headers=header())
    assert (answer.status_code, answer.text) == (200, "team-a")


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [(SCOPE_HEADER, "v1.forged")],
        header(key=b"x" * 32),
        header(model="other"),
        header(path="/v1/responses"),
        header(method="GET"),
        header() + header(),
    ],
    ids=["none", "forged", "other key", "other model", "other path", "other method", "twice"],
)
async def test_a_request_that_the_gateway_did_not_sign_is_refused(
    client: httpx.AsyncClient, app: Recorder, headers: list[tuple[str, str]]
) -> None:
    answer = await client.post(PATH, headers=headers)
    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == "invalid_scope"
    assert "through the gateway" in answer.json()["error"]["message"]
    assert app.given == []


async def test_a_replayed_header_is_refused(client: httpx.AsyncClient) -> None:
    headers = header()
    assert (await client.post(PATH, headers=headers)).status_code == 200
    assert (await client.post(PATH, headers=headers)).status_code == 401


async def test_an_encoded_path_is_not_the_signed_one(client: httpx.AsyncClient) -> None:
    assert (await client.post("/v1/chat%2fcompletions", headers=header())).status_code == 401


async def test_health_needs_no_header(client: httpx.AsyncClient) -> None:
    for path in ("/healthz", "/readyz"):
        assert (await client.get(path)).text == "-"


async def test_the_application_gets_the_servers_own_receive_and_send(app: Recorder) -> None:
    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(_message: Message) -> None:
        pass

    [(name, value)] = header()
    scope = {
        "type": "http",
        "method": "POST",
        "path": PATH,
        "raw_path": PATH.encode(),
        "headers": [(name.lower().encode(), value.encode())],
    }
    await ScopeGuard(app, ScopeVerifier([KEY], "echo"))(scope, receive, send)
    assert app.given == [(receive, send)]
