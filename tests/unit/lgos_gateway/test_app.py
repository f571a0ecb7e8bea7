from __future__ import annotations

import asyncio
import json
import logging
from typing import cast

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from gateway_kit.served import data_of, entry
from lgos_gateway.app import Gateway
from lgos_gateway.catalog import Catalog
from lgos_gateway.metrics import Metrics
from lgos_gateway.proxy import Proxy


class Defective:
    """A proxy that fails as no proxy should."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    async def forward(self, *_args: object, **_named: object) -> web.StreamResponse:
        raise self.error


def gateway(error: Exception, metrics: Metrics) -> Gateway:
    catalog = Catalog()
    catalog.put("team-a", data_of(entry("echo")))
    return Gateway(
        catalog,
        cast("Proxy", Defective(error)),
        metrics,
        max_body_bytes=1000,
        body_timeout_seconds=1,
        ready=lambda: "",
    )


async def test_a_defect_is_a_500_in_the_envelope_and_a_traceback_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    metrics = Metrics()
    handler = gateway(ZeroDivisionError("a secret"), metrics)
    with caplog.at_level(logging.ERROR):
        answer = await handler(make_mocked_request("GET", "/v1/models/echo"))
    assert answer.status == 500
    assert isinstance(answer, web.Response)
    error = json.loads(cast("bytes", answer.body))["error"]
    assert error["type"] == "server_error"
    assert "secret" not in error["message"]
    assert "ZeroDivisionError" in caplog.text
    assert "traceback" in caplog.text.lower()


async def test_a_client_that_left_while_it_was_written_to_is_counted_as_such() -> None:
    metrics = Metrics()
    handler = gateway(ConnectionResetError(), metrics)
    await handler(make_mocked_request("GET", "/v1/models/echo"))
    labels = {"model": "echo", "code": "499"}
    assert metrics.registry.get_sample_value("lgos_gateway_requests_total", labels) == 1


async def test_a_gateway_that_drains_closes_connections_after_answers() -> None:
    handler = gateway(ZeroDivisionError(), Metrics())
    assert (await handler(make_mocked_request("GET", "/v1/models"))).keep_alive is not False
    handler.is_draining = True
    assert (await handler(make_mocked_request("GET", "/v1/models"))).keep_alive is False


async def test_without_requests_it_is_idle_at_once() -> None:
    async with asyncio.timeout(1):
        await gateway(ZeroDivisionError(), Metrics()).idle()
