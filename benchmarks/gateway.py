"""What the gateway costs beside a bare relay of bytes: `python benchmarks/gateway.py`.

Four processes on one machine: a model that answers from memory, the gateway, a relay that knows no HTTP, and the client.
Printed are the CPU time of a frame and of a request in gateway and relay, the medians of a request's time, and the memory
that each of 1,000 open streams takes.
"""

from __future__ import annotations

import asyncio
import os
import socket
import statistics
import subprocess
import sys
import time
from dataclasses import replace
from typing import cast

import uvloop

from lgos_contract.registry import ModelState, RegistryEntry, dump_entry
from lgos_gateway.catalog import Catalog
from lgos_gateway.metrics import Metrics
from lgos_gateway.program import serve_catalog
from lgos_gateway.settings import Settings

HOST = "127.0.0.1"
FRAMES = 200
FRAME = (
    b'data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1764518400,"model":"echo",'
    b'"choices":[{"index":0,"delta":{"content":"token "},"finish_reason":null}]}\n\n'
)
CHUNK = b"%x\r\n%b\r\n" % (len(FRAME), FRAME)
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
WHOLE = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
END = b"0\r\n\r\n"


def request(mode: str) -> bytes:
    body = (
        b'{"model":"echo","mode":"%b","messages":[{"role":"user","content":"hi"}]}' % mode.encode()
    )
    return (
        b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
    )


async def model(port: int) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
                body = await reader.readexactly(length)
                if b'"whole"' in body:
                    writer.write(WHOLE)
                    continue
                writer.write(HEAD)
                # An open stream says one thing a second, until the client leaves.
                pause, frames = (0.001, FRAMES) if b'"stream"' in body else (1.0, 3600)
                for _ in range(frames):
                    writer.write(CHUNK)
                    await asyncio.sleep(pause)
                    await writer.drain()
                writer.write(END)
        except (ConnectionError, asyncio.IncompleteReadError):
            writer.close()

    server = await asyncio.start_server(answer, HOST, port, backlog=2048)
    await server.serve_forever()


async def gateway(upstream: int, port: int) -> None:
    metrics = Metrics()
    catalog = Catalog(metrics.models_changed, trusted_hosts=[HOST])
    entry = RegistryEntry(
        id="echo", namespace="a", name="echo", graph="a:b", base_url=f"http://{HOST}:{upstream}/v1",
        state=ModelState.SERVING, created=0, owned_by="a",
    )  # fmt: skip
    catalog.put("a", {"echo.json": dump_entry(entry)})
    settings = replace(Settings(), host=HOST, port=port, metrics_port=free_port())
    await serve_catalog(catalog, metrics, settings, ready=lambda: "", stop=asyncio.Event())


class Relay(asyncio.Protocol):
    """One side of a relayed connection."""

    def __init__(self, upstream: int = 0, other: Relay | None = None) -> None:
        self.upstream, self.other, self.early = upstream, other, b""
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)  # uvloop's is no subclass
        if self.other is None:
            self.task = asyncio.ensure_future(self.connect())

    async def connect(self) -> None:
        loop = asyncio.get_running_loop()
        _, self.other = await loop.create_connection(lambda: Relay(0, self), HOST, self.upstream)
        if self.early and self.other.transport:
            self.other.transport.write(self.early)

    def data_received(self, data: bytes) -> None:
        if self.other and self.other.transport:
            self.other.transport.write(data)
        else:
            self.early += data

    def connection_lost(self, exc: Exception | None) -> None:
        if self.other and self.other.transport:
            self.other.transport.close()


async def relay(upstream: int, port: int) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Relay(upstream), HOST, port, backlog=2048)
    await server.serve_forever()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def cpu(process: subprocess.Popen[bytes]) -> float:
    with open(f"/proc/{process.pid}/stat") as file:  # noqa: PTH123 - a line of the kernel
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(process: subprocess.Popen[bytes]) -> int:
    with open(f"/proc/{process.pid}/statm") as file:  # noqa: PTH123 - a line of the kernel
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def ask(port: int, mode: str, times: int) -> list[float]:
    """Ask on one connection, one after the other; return how long each took."""
    reader, writer = await asyncio.open_connection(HOST, port)
    took = []
    for _ in range(times):
        begin = time.perf_counter()
        writer.write(request(mode))
        await reader.readuntil(END if mode == "stream" else b"\r\n\r\n")
        if mode == "whole":
            await reader.readexactly(2)
        took.append(time.perf_counter() - begin)
    writer.close()
    return took


async def load(port: int, mode: str, clients: int, times: int) -> list[float]:
    taken = await asyncio.gather(*(ask(port, mode, times) for _ in range(clients)))
    return [each for one in taken for each in one]


async def until_listening(port: int) -> None:
    async with asyncio.timeout(60):
        while True:
            try:
                _, writer = await asyncio.open_connection(HOST, port)
            except OSError:
                await asyncio.sleep(0.05)
            else:
                writer.close()
                return


async def open_streams(port: int, process: subprocess.Popen[bytes], count: int) -> None:
    before = memory(process)
    writers = []
    for _ in range(count):
        reader, writer = await asyncio.open_connection(HOST, port)
        writer.write(request("open"))
        await reader.readuntil(FRAME)
        writers.append(writer)
    await asyncio.sleep(3)
    used, begin = memory(process), cpu(process)
    await asyncio.sleep(5)
    share = (cpu(process) - begin) / 5
    print(
        f"{count} open streams: {(used - before) / count / 1024:.1f} KiB each,"
        f" {used / 2**20:.0f} MiB in all, {share:.0%} of a core at a frame a second each"
    )
    for writer in writers:
        writer.close()


async def measure(ports: dict[str, int], processes: dict[str, subprocess.Popen[bytes]]) -> None:
    for port in ports.values():
        await until_listening(port)
    for clients in (1, 8, 32):
        for name in ("relay", "gateway"):
            await load(ports[name], "stream", clients, 1)
            begin = cpu(processes[name])
            await load(ports[name], "stream", clients, 5)
            frame = (cpu(processes[name]) - begin) / (clients * 5 * FRAMES) * 1e6
            print(f"{clients} streams, {name}: {frame:.1f} us CPU a frame")
    for clients in (1, 8, 32):
        for name in ("model", "relay", "gateway"):
            await load(ports[name], "whole", clients, 50)
            begin = cpu(processes[name])
            took = statistics.median(await load(ports[name], "whole", clients, 200)) * 1e3
            each = (cpu(processes[name]) - begin) / (clients * 200) * 1e6
            print(f"{clients} clients, {name}: median {took:.2f} ms, {each:.0f} us CPU a request")
    await open_streams(ports["gateway"], processes["gateway"], 1000)


def main() -> None:
    if len(sys.argv) > 1:
        program = {"model": model, "relay": relay, "gateway": gateway}[sys.argv[1]]
        uvloop.run(program(*map(int, sys.argv[2:])))
        return
    ports = {name: free_port() for name in ("model", "relay", "gateway")}
    processes = {
        name: subprocess.Popen(
            [sys.executable, __file__, name]
            + [str(ports[each]) for each in dict.fromkeys(("model", name))]
        )
        for name in ports
    }
    try:
        uvloop.run(measure(ports, processes))
    finally:
        for process in processes.values():
            process.kill()
            process.wait()


if __name__ == "__main__":
    main()
