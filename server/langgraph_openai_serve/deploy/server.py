"""One uvicorn server around an application: it listens, serves, and drains when it is told to stop.

uvicorn's own shutdown closes the listening socket at once and knows no run, so the drain comes before it: `/readyz`
turns 503 while `/healthz` and every request are still answered, open requests may end, what outlives the drain gets its
terminal failure event, and only then uvicorn closes. Answers during the drain close their connections, so that clients
with a pool go elsewhere.
"""

from __future__ import annotations

import asyncio
import errno
import gc
import logging
import signal
import socket
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Final

import uvicorn
from starlette.types import ASGIApp

from langgraph_openai_serve.errors import ConfigurationError
from langgraph_openai_serve.web.server import LanggraphOpenaiServe

logger = logging.getLogger(__name__)

BACKLOG: Final = 2048
CLOSE_SECONDS: Final = 5
"""How long clients may take to read the last bytes of their answers."""
GC_THRESHOLDS: Final = (20_000, 20, 50)
"""Request objects die young and by reference count; frequent collections only cost time."""


class StopSignal:
    """SIGTERM or SIGINT as an event; before the server has started it ends the start-up itself."""

    def __init__(self) -> None:
        self.requested = asyncio.Event()
        self._starting = asyncio.current_task()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.request)

    def started(self) -> None:
        """Leave the task alone from now on: whoever serves waits for `requested`."""
        self._starting = None

    def request(self) -> None:
        """Ask the process to stop."""
        self.requested.set()
        if self._starting is not None:
            self._starting.cancel()


class _Server(uvicorn.Server):
    """uvicorn, told to stop by us and not by signals."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_start = started

    def capture_signals(self) -> AbstractContextManager[None]:  # type: ignore[override]  # a generator in uvicorn; used as a context manager only
        return nullcontext()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        gc.collect()
        gc.freeze()
        gc.set_threshold(*GC_THRESHOLDS)
        self._on_start()

    def close_after_answers(self) -> None:
        """Let every answer from now on close its connection."""
        close = (b"connection", b"close")
        self.config.encoded_headers.append(close)
        self.server_state.default_headers = [*self.server_state.default_headers, close]


async def serve_until(
    stop: asyncio.Event,
    api: LanggraphOpenaiServe,
    listener: socket.socket,
    *,
    app: ASGIApp | None = None,
    drain_seconds: float,
    keep_alive_seconds: int,
    started: Callable[[], None] = lambda: None,
    draining: Callable[[], None] = lambda: None,
) -> None:
    """Serve `api` on `listener` until `stop`, drain, and close.

    Args:
        stop: Asks for the drain.
        api: The bound server.
        listener: A listening socket; it is closed at the end.
        app: Answers requests in place of the server's own application, which it passes them on to.
        drain_seconds: How long open requests may take after `stop`.
        keep_alive_seconds: How long an idle connection stays open.
        started: Called once requests are answered.
        draining: Called when the drain begins.
    """
    config = uvicorn.Config(
        app or api.app,
        lifespan="on",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=keep_alive_seconds,
        timeout_graceful_shutdown=CLOSE_SECONDS,
    )
    server = _Server(config, started)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait((serving, stopping), return_when=asyncio.FIRST_COMPLETED)
        if not serving.done():
            api.start_draining()
            draining()
            server.close_after_answers()
            logger.info("draining: %d open requests, up to %s s", api.open_requests, drain_seconds)
            if not await api.drain(drain_seconds):
                logger.warning("requests outlived the drain and were ended")
            server.should_exit = True
        await serving
    finally:
        stopping.cancel()


def listen(host: str, port: int, *, port_setting: str) -> socket.socket:
    """Return a socket that listens on `host` and `port`.

    Args:
        host: Name or address.
        port: The port.
        port_setting: What a user changes to get another port, for the message.

    Raises:
        ConfigurationError: That is not possible; the message says what to do.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise ConfigurationError(listen_problem(error, host, port, port_setting)) from error


def listen_problem(error: OSError, host: str, port: int, port_setting: str) -> str:
    """Return the sentence for a port that cannot be had."""
    if error.errno == errno.EADDRINUSE:
        return (
            f"port {port} on {host} is in use; stop the program that has it or choose another port"
            f" with {port_setting}"
        )
    if error.errno == errno.EACCES:
        return f"port {port} needs more rights; choose one above 1023 with {port_setting}"
    return f"cannot listen on {host}, port {port}: {error.strerror or error}"
