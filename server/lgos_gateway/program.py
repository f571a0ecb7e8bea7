"""`lgos gateway`: wires the gateway together and serves until SIGTERM, which it obeys in this order.

1. `/readyz` answers 503, answers close their connections, new connections are still taken for a few seconds.
2. The port is closed; requests that are open may end.
3. What is still open after `drain_seconds` is cut off. The program ends with 0.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from lgos_contract.environment import ENV_SCOPE_KEY, METRICS_PATH
from lgos_gateway.app import Gateway
from lgos_gateway.catalog import Catalog
from lgos_gateway.keys import Keys
from lgos_gateway.listener import Listener
from lgos_gateway.metrics import Metrics
from lgos_gateway.proxy import Proxy
from lgos_gateway.settings import ENV_API_KEYS_DIR, Settings, SettingsError, load_settings
from lgos_gateway.upstream import open_session
from lgos_gateway.watcher import RegistryWatch
from lgos_kube.client import KubeClient
from lgos_kube.config import KubeConfig, load_config
from lgos_kube.errors import KubeError

logger = logging.getLogger(__name__)

CUT_SECONDS = 0.2
"""How long a handler that is cut off may take to end."""


def run(environ: Mapping[str, str] = os.environ) -> int:
    """Serve until a signal comes.

    Returns:
        0 after a signal.

    Raises:
        SystemExit: With 1, after a sentence on standard error, when the gateway cannot start or go on.
    """
    try:
        settings = load_settings(environ)
        logging.basicConfig(
            level=settings.log_level.upper(),
            format="%(asctime)s %(levelname)s %(name)s: %(message)s",
            force=True,
        )
        with asyncio.Runner(loop_factory=_fast_loop()) as runner:
            runner.run(serve(load_config(), settings))
    except (SettingsError, KubeError, OSError) as error:
        logger.debug("the gateway cannot start or go on", exc_info=True)
        sys.stderr.write(f"lgos gateway: {error}\n")
        raise SystemExit(1) from error
    except Exception as error:
        logger.exception("the gateway cannot go on")
        raise SystemExit(1) from error
    return 0


async def serve(config: KubeConfig, settings: Settings) -> None:
    """Serve the models of one cluster until a signal comes."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    metrics = Metrics()
    catalog = Catalog(
        metrics.models_changed,
        cluster_domain=settings.cluster_domain,
        trusted_hosts=settings.trusted_hosts,
    )
    async with KubeClient(config, user_agent="lgos-gateway") as client:
        watch = RegistryWatch(client, catalog, settings.watch_namespaces)
        metrics.watch_age(lambda: watch.age_seconds)

        def ready() -> str:
            if stop.is_set():
                return "shutting down"
            return "" if watch.is_synced else "waiting for the model registry"

        following = asyncio.create_task(watch.run())
        # A watch that fails for another reason than the API server is a defect: end, and be started again.
        following.add_done_callback(lambda _: stop.set())
        try:
            await serve_catalog(catalog, metrics, settings, ready=ready, stop=stop)
        finally:
            following.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await following


async def serve_catalog(
    catalog: Catalog,
    metrics: Metrics,
    settings: Settings,
    *,
    ready: Callable[[], str],
    stop: asyncio.Event,
) -> None:
    """Serve the models of a catalog until `stop` is set, then drain."""
    session = open_session(
        connect_timeout_seconds=settings.connect_timeout_seconds,
        read_timeout_seconds=settings.read_timeout_seconds,
    )
    keys = _load_keys(metrics, settings)
    async with session, _exporting(metrics, settings), _following(keys):
        proxy = Proxy(session, metrics, read_timeout_seconds=settings.read_timeout_seconds)
        gateway = Gateway(
            catalog,
            proxy,
            metrics,
            max_body_bytes=settings.max_body_bytes,
            body_timeout_seconds=settings.body_timeout_seconds,
            keys=keys,
            scope_key=settings.scope_keys[0] if settings.scope_keys else b"",
            ready=ready,
        )
        server = Listener(
            gateway,
            metrics,
            header_timeout_seconds=settings.header_timeout_seconds,
            handler_cancellation=True,
            access_log=None,
            auto_decompress=False,
            keepalive_timeout=settings.keep_alive_seconds,
        )
        runner = web.ServerRunner(server, shutdown_timeout=CUT_SECONDS)
        await runner.setup()
        try:
            site = web.TCPSite(runner, settings.host, settings.port, backlog=1024)
            await site.start()
            logger.info("listening on %s:%d", settings.host, settings.port)
            gc.collect()
            gc.freeze()
            await stop.wait()
            await _drain(gateway, server, site, settings)
        finally:
            await runner.cleanup()


async def _drain(
    gateway: Gateway, server: web.Server, site: web.TCPSite, settings: Settings
) -> None:
    logger.info("stopping: %d requests are open", gateway.open_requests)
    gateway.is_draining = True
    await asyncio.sleep(settings.shutdown_delay_seconds)
    await site.stop()
    server.pre_shutdown()
    try:
        async with asyncio.timeout(settings.drain_seconds):
            await gateway.idle()
    except TimeoutError:
        logger.warning("%d requests are cut off", gateway.open_requests)


def _load_keys(metrics: Metrics, settings: Settings) -> Keys | None:
    if settings.api_keys_dir is None:
        logger.warning("requests need no API key: %s is not set", ENV_API_KEYS_DIR)
        return None
    if not settings.scope_keys:
        logger.warning("models are not told whose key a request has: %s is not set", ENV_SCOPE_KEY)
    keys = Keys(settings.api_keys_dir, metrics.api_keys.set)
    try:
        keys.load()
    except OSError as error:
        msg = f"{ENV_API_KEYS_DIR} is '{settings.api_keys_dir}': {error.strerror}; mount the Secret with the API keys there"
        raise SettingsError(msg) from error
    return keys


@asynccontextmanager
async def _following(keys: Keys | None) -> AsyncIterator[None]:
    if keys is None:
        yield
        return
    following = asyncio.create_task(keys.follow())
    try:
        yield
    finally:
        following.cancel()


@asynccontextmanager
async def _exporting(metrics: Metrics, settings: Settings) -> AsyncIterator[None]:
    async def exposition(request: web.BaseRequest) -> web.StreamResponse:
        if request.path != METRICS_PATH:
            return web.Response(status=404, text=f"Metrics are at {METRICS_PATH}.\n")
        text = generate_latest(metrics.registry)
        return web.Response(body=text, headers={"Content-Type": CONTENT_TYPE_LATEST})

    runner = web.ServerRunner(web.Server(exposition, access_log=None), shutdown_timeout=CUT_SECONDS)
    await runner.setup()
    try:
        await web.TCPSite(runner, settings.host, settings.metrics_port).start()
        yield
    finally:
        await runner.cleanup()


def _fast_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return the loop factory of uvloop, or `None` (asyncio's own) where uvloop is not installed."""
    try:
        import uvloop  # noqa: PLC0415 - optional: not on every platform
    except ModuleNotFoundError:
        return None
    return uvloop.new_event_loop
