"""The gateway's HTTP surface: routes, error envelope, counts.

    GET  /v1/models                  all models, kept as bytes
    GET  /v1/models/{model}          passed to the model's API
    POST /v1/chat/completions        passed on by `model` of the body
    POST /v1/responses               passed on by `model` of the body
    GET  /v1/responses/{id}          404: no Response is kept anywhere yet
    POST /v1/responses/{id}/cancel   404
    GET  /healthz, /readyz           for the kubelet

A trailing slash makes no difference: a redirect would drop body and credentials in many clients. There is no router
and no middleware; a request is one dictionary look-up away from its handler.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, unquote

from aiohttp import HttpVersion11, web
from yarl import URL

from lgos_contract.environment import HEALTH_PATH, READY_PATH
from lgos_contract.scope import sign_scope
from lgos_gateway import errors, headers
from lgos_gateway.catalog import Catalog, Route
from lgos_gateway.errors import Refusal
from lgos_gateway.keys import Caller, Keys
from lgos_gateway.metrics import CLIENT_LEFT, OTHER, Metrics
from lgos_gateway.proxy import ModelBrokeOff, Proxy, abort

logger = logging.getLogger(__name__)

MODELS: Final = "/v1/models"
CHAT: Final = "/v1/chat/completions"
RESPONSES: Final = "/v1/responses"

OPEN_PATHS: Final = frozenset({HEALTH_PATH, READY_PATH})
"""Need no API key: the kubelet has none."""
ANYBODY: Final = "shared"
"""Scope of all requests where no key is needed, as in a model's own API."""

Handler = Callable[[web.BaseRequest, "Exchange"], Awaitable[web.StreamResponse]]


@dataclass(slots=True)
class Exchange:
    """What is known of one request while it is answered."""

    path: str
    identity: str
    model: str | None = None
    """The label of the metrics, once the request named a model."""
    caller: Caller | None = None
    """Whose key it has; `None` where no key is needed."""


class Gateway:
    """The handler of all requests, for `aiohttp.web.Server`.

    Args:
        catalog: The models.
        proxy: Passes requests on.
        metrics: Counts answers.
        max_body_bytes: Larger request bodies are refused.
        body_timeout_seconds: A body that stalls for longer is refused.
        keys: The API keys; `None`: requests need none.
        scope_key: Signs the scope for the models' APIs; empty: it is not sent.
        ready: Says what keeps the gateway from taking requests; empty when nothing does.
    """

    def __init__(
        self,
        catalog: Catalog,
        proxy: Proxy,
        metrics: Metrics,
        *,
        max_body_bytes: int,
        body_timeout_seconds: float,
        keys: Keys | None = None,
        scope_key: bytes = b"",
        ready: Callable[[], str],
    ) -> None:
        self.open_requests = 0
        self.is_draining = False
        self._idle = asyncio.Event()
        self._catalog = catalog
        self._proxy = proxy
        self._metrics = metrics
        self._max_body_bytes = max_body_bytes
        self._body_timeout_seconds = body_timeout_seconds
        self._keys = keys
        self._scope_key = scope_key
        self._ready = ready
        self._routes: dict[str, tuple[str, Handler]] = {
            MODELS: ("GET", self._list_models),
            CHAT: ("POST", self._chat),
            RESPONSES: ("POST", self._responses),
            HEALTH_PATH: ("GET", self._healthz),
            READY_PATH: ("GET", self._readyz),
        }

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        exchange = Exchange(_path(request), headers.request_id(request.headers))
        self.open_requests += 1
        code = CLIENT_LEFT
        try:
            answer = await self._answer(request, exchange)
            code = answer.status
        except ModelBrokeOff as error:
            logger.warning("%s (request %s)", error, exchange.identity)
            code = 502
            abort(request)
            # The server wants an answer; it cannot send this one, the connection is gone.
            answer = web.Response(status=code)
        except ConnectionError:
            # The client left while it was written to; the server finds out by itself.
            answer = web.Response(status=code)
        finally:
            self._finished(exchange, code)
        if not answer.prepared:
            answer.headers["Server"] = headers.SERVER
            answer.headers[headers.REQUEST_ID] = exchange.identity
            if self.is_draining:
                answer.force_close()
        return answer

    async def idle(self) -> None:
        """Wait until no request is open."""
        while self.open_requests:
            self._idle.clear()
            await self._idle.wait()

    async def _answer(self, request: web.BaseRequest, exchange: Exchange) -> web.StreamResponse:
        try:
            if exchange.path not in OPEN_PATHS and self._keys is not None:
                caller = self._keys.caller(_only(request, "Authorization"))
                caller.enter()
                exchange.caller = caller
            return await self._handler(request, exchange.path)(request, exchange)
        except Refusal as refusal:
            if refusal.reason is not None:
                self._metrics.refused(refusal.reason)
            return _refused(refusal)
        except (ModelBrokeOff, ConnectionError):
            raise
        except Exception:
            # A defect: the caller gets an envelope, the log the whole of it.
            logger.exception("%s %s (request %s)", request.method, exchange.path, exchange.identity)
            return _refused(errors.gateway_failed())

    def _finished(self, exchange: Exchange, code: int) -> None:
        self.open_requests -= 1
        if not self.open_requests:
            self._idle.set()
        if exchange.caller is not None:
            exchange.caller.leave()
        if exchange.model is not None:
            self._metrics.answered(exchange.model, code)

    def _handler(self, request: web.BaseRequest, path: str) -> Handler:
        allowed, handler = self._routes.get(path) or self._inner(request.method, path)
        if request.method == allowed or (request.method == "HEAD" and allowed == "GET"):
            return handler
        raise errors.wrong_method(request.method, path, allowed)

    def _inner(self, method: str, path: str) -> tuple[str, Handler]:
        """Find the handler of a path that carries a name."""
        if path.startswith(MODELS + "/"):
            return "GET", self._show_model
        if path.startswith(RESPONSES + "/"):
            rest = path[len(RESPONSES) + 1 :]
            if "/" not in rest:
                return "GET", self._response
            if rest.count("/") == 1 and rest.endswith("/cancel"):
                return "POST", self._response
        raise errors.unknown_path(method, path)

    async def _healthz(self, _request: web.BaseRequest, _exchange: Exchange) -> web.StreamResponse:
        return web.Response(text="ok")

    async def _readyz(self, _request: web.BaseRequest, _exchange: Exchange) -> web.StreamResponse:
        problem = self._ready()
        return web.Response(text=problem or "ok", status=503 if problem else 200)

    async def _list_models(
        self, _request: web.BaseRequest, exchange: Exchange
    ) -> web.StreamResponse:
        key = exchange.caller.key if exchange.caller else None
        listing = self._catalog.listing if key is None else self._catalog.listing_for(key.models)
        return web.Response(body=listing, content_type="application/json")

    async def _show_model(self, request: web.BaseRequest, exchange: Exchange) -> web.StreamResponse:
        model = unquote(exchange.path[len(MODELS) + 1 :])
        route = self._route(model, exchange)
        url = URL(f"{route.base}/models/{quote(model)}", encoded=True)
        return await self._forward(request, exchange, model, url)

    async def _chat(self, request: web.BaseRequest, exchange: Exchange) -> web.StreamResponse:
        body = await self._read(request)
        route = self._route(errors.parse_model(body), exchange)
        return await self._forward(request, exchange, route.model, route.chat, body)

    async def _responses(self, request: web.BaseRequest, exchange: Exchange) -> web.StreamResponse:
        body = await self._read(request)
        route = self._route(errors.parse_model(body), exchange)
        return await self._forward(request, exchange, route.model, route.responses, body)

    async def _forward(
        self,
        request: web.BaseRequest,
        exchange: Exchange,
        model: str,
        url: URL,
        body: bytes | bytearray | None = None,
    ) -> web.StreamResponse:
        owner = exchange.caller.key.scope if exchange.caller else ANYBODY
        scope = None
        if self._scope_key:
            scope = sign_scope(
                self._scope_key, owner, method=request.method, path=url.raw_path, model=model
            )
        return await self._proxy.forward(
            request,
            model,
            url,
            body=body,
            identity=exchange.identity,
            scope=scope,
            has_key=exchange.caller is not None,
        )

    async def _response(self, _request: web.BaseRequest, exchange: Exchange) -> web.StreamResponse:
        raise errors.response_not_found(unquote(exchange.path.split("/")[3]))

    def _route(self, model: str, exchange: Exchange) -> Route:
        route = self._catalog.route(model)
        if exchange.caller is not None and not exchange.caller.key.may_use(model):
            # The same answer as for a name that nobody has: names of other teams are not told.
            route = None
        exchange.model = OTHER if route is None else model
        if route is None:
            raise errors.model_not_found(model)
        return route

    async def _read(self, request: web.BaseRequest) -> bytes | bytearray:
        """Read the request body, but never more than the limit and one chunk.

        Raises:
            Refusal: The body is too large, compressed, stalled or broken.
        """
        limit = self._max_body_bytes
        length = _announced(request, limit)
        if request.headers.get("Expect", "").lower() == "100-continue":
            await _let_send(request)
        body = bytearray()
        read = request.content.readany
        seconds = self._body_timeout_seconds
        try:
            while True:
                async with asyncio.timeout(seconds):
                    chunk = await read()
                if len(chunk) == length and not body:
                    return chunk
                if not chunk:
                    # A reader that was awake when the body broke sees its end only.
                    if request.content.exception() is not None:
                        raise errors.bad_http()
                    return body
                body += chunk
                if len(body) > limit:
                    raise errors.body_too_large(limit)
        except TimeoutError as error:
            raise errors.body_stalled(seconds) from error
        except web.RequestPayloadError as error:
            raise errors.bad_http() from error


def _announced(request: web.BaseRequest, limit: int) -> int | None:
    """Return the length of the body that is to come, where the client names it.

    Raises:
        Refusal: The body that the headers announce cannot be taken.
    """
    encoding = request.headers.get("Content-Encoding", "identity")
    if encoding.lower() != "identity":
        raise errors.encoded_body(encoding)
    length = request.content_length
    if length is not None and length > limit:
        raise errors.body_too_large(limit)
    return length


def _only(request: web.BaseRequest, name: str) -> str | None:
    """Return a header that must not be there twice; another reader could take the other one.

    Raises:
        Refusal: It is there twice.
    """
    values = request.headers.getall(name, ())
    if len(values) > 1:
        raise errors.bad_http()
    return values[0] if values else None


async def _let_send(request: web.BaseRequest) -> None:
    """Tell a client that holds its body back that it may send it: `curl` waits a second for that."""
    if request.version < HttpVersion11:
        return
    await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    # These bytes are no part of the answer, which has not begun.
    request.writer.output_size = 0


def _path(request: web.BaseRequest) -> str:
    """Return the path as it was sent, without query and trailing slash."""
    path = request.raw_path.partition("?")[0]
    if not path.startswith("/"):
        path = request.rel_url.raw_path
    return path.rstrip("/") or "/"


def _refused(refusal: Refusal) -> web.Response:
    answer = web.Response(
        status=refusal.status,
        body=refusal.body(),
        content_type="application/json",
        headers=refusal.headers,
    )
    if refusal.headers.get("Connection") == "close":
        # The header alone only tells the client.
        answer.force_close()
    return answer
