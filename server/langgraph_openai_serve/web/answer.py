"""One HTTP answer: begun once, and given for every way in which a request can fail."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from typing import Final

from starlette.exceptions import HTTPException

from langgraph_openai_serve.errors import LgosError, RunCancelled, RunError
from langgraph_openai_serve.web.errors import http_envelope
from langgraph_openai_serve.web.requests import OpenRequests
from langgraph_openai_serve.web.transport import (
    REQUEST_ID,
    ClientGone,
    Headers,
    Receive,
    Scope,
    Send,
    header,
    send_error,
    send_json,
)

logger = logging.getLogger(__name__)

ResolveScope = Callable[[Scope, Receive], Awaitable[str]]
"""Tells the server-trusted owner of a request."""
REQUEST_ID_MAX: Final = 128
IGNORED_FIELDS: Final = b"x-lgos-ignored-fields"
IGNORED_MAX: Final = 1024


class Answer:
    """One answer that can be begun once."""

    __slots__ = ("headers", "request_id", "send", "started")

    def __init__(self, send: Send, request_id: str) -> None:
        self.send = send
        self.request_id = request_id
        self.headers: Headers = [(REQUEST_ID, request_id.encode("latin-1"))]
        self.started = False

    def note_ignored(self, fields: tuple[str, ...]) -> None:
        """Name the ignored request fields in the answer's headers."""
        names = ",".join(fields).encode("ascii", "replace")[:IGNORED_MAX]
        self.headers = [*self.headers, (IGNORED_FIELDS, names)]

    async def json(self, body: bytes) -> None:
        """Send a JSON answer."""
        self.started = True
        await send_json(self.send, body, headers=self.headers)

    async def refuse(self, refusal: HTTPException) -> None:
        """Send a host's own refusal."""
        given = (refusal.headers or {}).items()
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in given]
        body = http_envelope(refusal)
        await send_json(
            self.send, body, status=refusal.status_code, headers=[*self.headers, *headers]
        )

    async def error(self, error: LgosError) -> None:
        """Send a failure, unless an answer has begun."""
        if not self.started:
            self.started = True
            await send_error(self.send, error, headers=self.headers)


async def answer_request(
    scope: Scope, send: Send, requests: OpenRequests, run: Callable[[Answer], Awaitable[None]]
) -> None:
    """Run one request to its answer, whatever happens.

    Args:
        scope: The request.
        send: Takes the answer.
        requests: Counts the request while it is in progress.
        run: Answers the request, or raises.
    """
    answer = Answer(send, _request_id(scope))
    task = requests.enter()
    try:
        await run(answer)
    except ClientGone:
        logger.info("client left: request_id=%s", answer.request_id)
    except asyncio.CancelledError:
        if not requests.draining:
            raise
        uncancel()
        await answer.error(RunCancelled("the server stopped"))
    except LgosError as error:
        await answer.error(error)
    except HTTPException as refusal:  # raised by the host's scope function
        await answer.refuse(refusal)
    except Exception:  # a host's scope function or a bug: the caller still gets an envelope
        logger.exception("request failed: request_id=%s", answer.request_id)
        await answer.error(RunError("the request failed"))
    finally:
        requests.leave(task)


def uncancel() -> None:
    """Take back one cancellation of the current task."""
    task = asyncio.current_task()
    if task is not None:
        task.uncancel()


def _request_id(scope: Scope) -> str:
    given = header(scope, REQUEST_ID)
    if given and len(given) <= REQUEST_ID_MAX and given.isprintable():
        return given
    return os.urandom(16).hex()
