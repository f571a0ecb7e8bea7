"""Streams on raw connections: bytes, moments, and ends of every kind."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from gateway_kit.served import (
    DEADLINE_SECONDS,
    Served,
    chat_request,
    data_of,
    entry,
    gateway,
    raw_post,
    read_head,
)
from gateway_kit.upstream import Connection, Received, Upstream, listening

FRAME = b'data: {"n": 1}\n\n'


@asynccontextmanager
async def both(**settings: object) -> AsyncIterator[tuple[Served, Upstream]]:
    async with listening() as upstream, gateway(**settings) as served:
        served.catalog.put("team-a", data_of(entry("echo", upstream.base_url)))
        yield served, upstream


async def read_chunk(reader: asyncio.StreamReader) -> bytes:
    """Read one HTTP chunk; the last one is empty."""
    async with asyncio.timeout(DEADLINE_SECONDS):
        size = int(await reader.readline(), 16)
        data = await reader.readexactly(size + 2)
    return data[:-2]


async def read_body(reader: asyncio.StreamReader) -> bytes:
    parts = []
    while part := await read_chunk(reader):
        parts.append(part)
    return b"".join(parts)


async def test_each_frame_arrives_before_the_next_one_is_sent() -> None:
    seen = asyncio.Queue[bytes]()

    async def one_by_one(_received: Received, connection: Connection) -> None:
        await connection.begin_stream()
        for number in range(5):
            frame = b"data: %d\n\n" % number
            await connection.chunk(frame)
            # The next frame goes out only when the client has this one: a buffer would end in the deadline.
            async with asyncio.timeout(DEADLINE_SECONDS):
                assert await seen.get() == frame
        await connection.end_stream()

    async with both() as (served, upstream):
        upstream.script = one_by_one
        reader, writer = await served.connect()
        writer.write(chat_request(stream=True))
        status, headers = await read_head(reader)
        assert status == 200
        assert headers["content-type"] == "text/event-stream"
        assert headers["x-accel-buffering"] == "no"
        assert headers["cache-control"] == "no-cache"
        assert "content-length" not in headers
        assert "content-encoding" not in headers
        while chunk := await read_chunk(reader):
            seen.put_nowait(chunk)
        writer.close()


async def test_headers_of_a_stream_come_before_its_first_byte() -> None:
    go_on = asyncio.Event()

    async def late(_received: Received, connection: Connection) -> None:
        await connection.begin_stream()
        await go_on.wait()
        await connection.end_stream()

    async with both() as (served, upstream):
        upstream.script = late
        reader, writer = await served.connect()
        writer.write(chat_request(stream=True))
        status, _ = await read_head(reader)
        assert status == 200
        await served.until_sample(1, "lgos_gateway_streams_open")
        go_on.set()
        assert await read_body(reader) == b""
        await served.until_sample(0, "lgos_gateway_streams_open")
        writer.close()


@pytest.mark.parametrize("size", [1, 100_000, 3_000_000])
async def test_every_byte_of_a_stream_passes_unchanged(size: int) -> None:
    body = bytes(range(256)) * (size // 256) + b"\x00\r\n\xff"

    async def pour(_received: Received, connection: Connection) -> None:
        await connection.begin_stream("Content-Encoding: gzip\r\n")
        for at in range(0, len(body), 7001):
            await connection.chunk(body[at : at + 7001])
        await connection.end_stream()

    async with both() as (served, upstream):
        upstream.script = pour
        reader, writer = await served.connect()
        writer.write(chat_request(stream=True))
        _, headers = await read_head(reader)
        assert headers["content-encoding"] == "gzip"
        assert await read_body(reader) == body
        writer.close()


async def test_a_long_answer_of_known_length_keeps_its_length() -> None:
    body = json.dumps({"text": "x" * 300_000}).encode()

    async def long(_received: Received, connection: Connection) -> None:
        await connection.answer(body)

    async with both() as (served, upstream):
        upstream.script = long
        reader, writer = await served.connect()
        writer.write(chat_request())
        _, headers = await read_head(reader)
        assert int(headers["content-length"]) == len(body)
        assert await reader.readexactly(len(body)) == body
        writer.close()


async def test_a_client_that_leaves_ends_the_models_run_at_once() -> None:
    left = asyncio.Event()

    async def endless(_received: Received, connection: Connection) -> None:
        await connection.begin_stream()
        await connection.chunk(FRAME)
        await connection.closed_by_peer()
        left.set()

    async with both() as (served, upstream):
        upstream.script = endless
        reader, writer = await served.connect()
        writer.write(chat_request(stream=True))
        await read_head(reader)
        assert await read_chunk(reader) == FRAME
        writer.close()
        async with asyncio.timeout(2):
            await left.wait()
        await served.until_sample(1, "lgos_gateway_requests_total", model="echo", code="499")
        await served.until_sample(0, "lgos_gateway_streams_open")


async def test_a_client_that_leaves_before_the_headers_ends_the_models_run_at_once() -> None:
    asked, left = asyncio.Event(), asyncio.Event()

    async def think(_received: Received, connection: Connection) -> None:
        asked.set()
        await connection.closed_by_peer()
        left.set()

    async with both() as (served, upstream):
        upstream.script = think
        _, writer = await served.connect()
        writer.write(chat_request())
        async with asyncio.timeout(2):
            await asked.wait()
            writer.close()
            await left.wait()


async def test_a_slow_client_slows_the_model_down() -> None:
    sent = 0
    limit = 64 * 2**20

    async def pour(_received: Received, connection: Connection) -> None:
        nonlocal sent
        await connection.begin_stream()
        while sent < limit:
            await connection.chunk(b"x" * 65536)
            sent += 65536
        await connection.end_stream()

    async with both() as (served, upstream):
        upstream.script = pour
        reader, writer = await served.connect()
        writer.write(chat_request(stream=True))
        await read_head(reader)
        before = -1
        async with asyncio.timeout(DEADLINE_SECONDS):
            while before != sent:
                before = sent
                await asyncio.sleep(0.3)
        assert sent < limit / 2
        writer.close()


async def test_a_stream_that_the_model_breaks_off_never_ends_cleanly() -> None:
    async def break_off(_received: Received, connection: Connection) -> None:
        await connection.begin_stream()
        await connection.chunk(FRAME)
        connection.close()

    async with both() as (served, upstream):
        upstream.script = break_off
        reader, writer = await served.connect()
        writer.write(chat_request(stream=True))
        await read_head(reader)
        assert not (await _rest(reader)).endswith(b"0\r\n\r\n")
        await served.until_sample(1, "lgos_gateway_requests_total", model="echo", code="502")
        writer.close()


async def test_a_client_of_http_1_0_gets_a_reset_when_the_model_breaks_off() -> None:
    go_on = asyncio.Event()

    async def break_off(_received: Received, connection: Connection) -> None:
        await connection.begin_stream()
        await connection.chunk(FRAME)
        await go_on.wait()
        connection.close()

    async with both() as (served, upstream):
        upstream.script = break_off
        body = b'{"model": "echo", "stream": true}'
        reader, writer = await served.connect()
        writer.write(raw_post("/v1/responses", body, version="1.0"))
        await read_head(reader)
        assert await reader.readexactly(len(FRAME)) == FRAME
        go_on.set()
        with pytest.raises(ConnectionResetError):
            async with asyncio.timeout(DEADLINE_SECONDS):
                await reader.read()
        writer.close()


async def test_a_model_that_falls_silent_within_a_stream_is_broken_off() -> None:
    async def fall_silent(_received: Received, connection: Connection) -> None:
        await connection.begin_stream()
        await connection.chunk(FRAME)
        await connection.closed_by_peer()

    async with both(read_timeout_seconds=0.2) as (served, upstream):
        upstream.script = fall_silent
        reader, writer = await served.connect()
        writer.write(chat_request(stream=True))
        await read_head(reader)
        assert not (await _rest(reader)).endswith(b"0\r\n\r\n")
        writer.close()


async def test_a_connection_to_the_model_is_used_again() -> None:
    async with both() as (served, upstream):
        reader, writer = await served.connect()
        for _ in range(5):
            writer.write(chat_request())
            _, headers = await read_head(reader)
            await reader.readexactly(int(headers["content-length"]))
        writer.close()
        assert len(upstream.requests) == 5
        assert upstream.connections == 1


async def test_a_stream_gives_its_connection_back() -> None:
    async def stream(_received: Received, connection: Connection) -> None:
        await connection.begin_stream()
        await connection.chunk(FRAME)
        await connection.end_stream()

    async with both() as (served, upstream):
        upstream.script = stream
        reader, writer = await served.connect()
        for _ in range(5):
            writer.write(chat_request(stream=True))
            await read_head(reader)
            assert await read_body(reader) == FRAME
        writer.close()
        assert upstream.connections == 1


async def test_a_stop_lets_an_open_stream_end_and_cuts_what_takes_too_long() -> None:
    go_on = asyncio.Event()

    async def two_frames(received: Received, connection: Connection) -> None:
        await connection.begin_stream()
        await connection.chunk(FRAME)
        if received.json()["model"] == "slow":
            await connection.closed_by_peer()
            return
        await go_on.wait()
        await connection.chunk(FRAME)
        await connection.end_stream()

    async with both(drain_seconds=3) as (served, upstream):
        upstream.script = two_frames
        served.catalog.put(
            "team-a", data_of(entry("echo", upstream.base_url), entry("slow", upstream.base_url))
        )
        ends = []
        for model in ("echo", "slow"):
            reader, writer = await served.connect()
            writer.write(chat_request(model, stream=True))
            await read_head(reader)
            assert await read_chunk(reader) == FRAME
            ends.append((reader, writer))
        served.stop.set()
        await _port_is_closed(served)
        (ending, _), (cut, _) = ends
        # Much longer than cutting takes, much shorter than the drain.
        ended = asyncio.create_task(_rest(cut))
        await asyncio.wait((ended,), timeout=1)
        assert not ended.done()
        go_on.set()
        assert await read_body(ending) == FRAME
        assert not (await ended).endswith(b"0\r\n\r\n")
        for _, writer in ends:
            writer.close()


async def _rest(reader: asyncio.StreamReader) -> bytes:
    """Read until the connection ends, whichever way."""
    rest = b""
    async with asyncio.timeout(DEADLINE_SECONDS):
        with contextlib.suppress(ConnectionResetError):
            while part := await reader.read(65536):
                rest += part
    return rest


async def _port_is_closed(served: Served) -> None:
    """Wait until the gateway listens no longer: another program could take its port."""
    async with asyncio.timeout(DEADLINE_SECONDS):
        while True:
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                with contextlib.suppress(OSError):
                    probe.bind(("127.0.0.1", served.settings.port))
                    probe.listen()
                    return
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("count", [100, pytest.param(1000, marks=pytest.mark.endurance)])
async def test_many_open_streams_pass_side_by_side(count: int) -> None:
    release = asyncio.Event()
    waiting = 0

    async def held(_received: Received, connection: Connection) -> None:
        nonlocal waiting
        await connection.begin_stream()
        await connection.chunk(FRAME)
        waiting += 1
        await release.wait()
        await connection.chunk(FRAME)
        await connection.end_stream()

    async with both() as (served, upstream):
        upstream.script = held
        clients = []
        for _ in range(count):
            reader, writer = await served.connect()
            writer.write(chat_request(stream=True))
            assert (await read_head(reader))[0] == 200
            assert await read_chunk(reader) == FRAME
            clients.append((reader, writer))
        assert waiting == count
        assert served.sample("lgos_gateway_streams_open") == count
        release.set()
        for reader, writer in clients:
            assert await read_chunk(reader) == FRAME
            assert await read_chunk(reader) == b""
            writer.close()
        await served.until_sample(0, "lgos_gateway_streams_open")


async def test_a_model_that_talks_on_is_not_taken_for_a_silent_one() -> None:
    parts = 8

    async def slow(_received: Received, connection: Connection) -> None:
        await connection.begin_stream()
        for _ in range(parts):
            await connection.chunk(FRAME)
            await asyncio.sleep(0.2)
        await connection.end_stream()

    async with both(read_timeout_seconds=0.5) as (served, upstream):
        upstream.script = slow
        reader, writer = await served.connect()
        writer.write(chat_request(stream=True))
        await read_head(reader)
        for _ in range(parts):
            assert await read_chunk(reader) == FRAME
        assert await read_chunk(reader) == b""
        writer.close()


async def test_a_model_that_falls_silent_within_a_stream_ends_it_without_its_end() -> None:
    async def silent(_received: Received, connection: Connection) -> None:
        await connection.begin_stream()
        await connection.chunk(FRAME)
        await connection.closed_by_peer()

    async with both(read_timeout_seconds=0.5) as (served, upstream):
        upstream.script = silent
        reader, writer = await served.connect()
        writer.write(chat_request(stream=True))
        await read_head(reader)
        assert await read_chunk(reader) == FRAME
        async with asyncio.timeout(DEADLINE_SECONDS):
            with contextlib.suppress(ConnectionError):
                assert await reader.read() == b""
        writer.close()
        await served.until_sample(1, "lgos_gateway_requests_total", model="echo", code="502")
