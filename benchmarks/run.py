"""Measures LGOS against the floor in one run: `python benchmarks/run.py [--slices 9] [--only NAME…] [--json FILE]`.

CPU time of the server processes (user + system), contenders in turn in short slices, the low decile of the slices. Ratios
are what counts; absolute times on a shared machine say little.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import resource
import socket
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import aiohttp
from load import WORKLOADS, Workload, drive
from page import page

FOLDER = Path(__file__).parent
OPEN_STREAMS = 1000
BOOTS = 5
PAGE_KIB = os.sysconf("SC_PAGE_SIZE") // 1024
TARGETS = {
    "models": 1.0, "chat": 1.10, "responses": 1.10, "chat paced": 0.85, "responses paced": 0.85,
    "chat burst": 0.95, "responses burst": 0.95, "100 slow streams": 0.70, "500 slow streams": 0.60,
}  # fmt: skip


class Contender:
    """One server process."""

    def __init__(self, name: str, module: str) -> None:
        self.name = name
        self.module = module
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.base = f"http://127.0.0.1:{port}"
        self.process = subprocess.Popen(
            [sys.executable, str(FOLDER / "serve.py"), module, str(port)], cwd=FOLDER
        )

    async def ready(self, session: aiohttp.ClientSession) -> None:
        started = time.perf_counter()
        while True:
            try:
                async with session.get(self.base + "/v1/models") as answer:
                    if answer.status == 200:
                        break
            except aiohttp.ClientError:
                if self.process.poll() is not None or time.perf_counter() - started > 60:
                    sys.exit(f"{self.name} did not start")
                await asyncio.sleep(0.02)

    def cpu_seconds(self) -> float:
        # The kernel's run time in nanoseconds; /proc/PID/stat counts in ticks of 10 ms.
        threads = Path(f"/proc/{self.process.pid}/task").iterdir()
        return sum(int((task / "schedstat").read_text().split()[0]) for task in threads) / 1e9

    def rss_kib(self) -> int:
        return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * PAGE_KIB

    def stop(self) -> None:
        self.process.kill()  # a graceful stop would wait for the streams that are held open
        self.process.wait(10)


def low_decile(values: list[float]) -> float:
    return sorted(values)[max(0, len(values) // 10 - 1) if len(values) >= 20 else 0]


def median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


async def measure(
    session: aiohttp.ClientSession, load: Workload, contenders: list[Contender], slices: int
) -> dict[str, Any]:
    cpu: dict[str, list[float]] = {one.name: [] for one in contenders}
    first: dict[str, list[float]] = {one.name: [] for one in contenders}
    for round_ in range(slices + 1):
        for one in contenders:
            before = one.cpu_seconds()
            outcome = await drive(session, one.base, load)
            if round_:  # the first round warms up
                cpu[one.name].append((one.cpu_seconds() - before) / (load.requests * load.units))
                first[one.name] += outcome.first_bytes
    floor, ours = (low_decile(cpu[one.name]) for one in contenders)
    row: dict[str, Any] = {
        "workload": load.name,
        "unit": load.unit,
        "floor_us": floor * 1e6,
        "ours_us": ours * 1e6,
        "ratio": ours / floor,
        "target": TARGETS.get(load.name),
    }
    if load.stream:
        row["first_floor_ms"] = median(first[contenders[0].name]) * 1e3
        row["first_ours_ms"] = median(first[contenders[1].name]) * 1e3
    return row


async def run(options: argparse.Namespace) -> dict[str, Any]:
    loads = [load for load in WORKLOADS if not options.only or load.name in options.only]
    connector = aiohttp.TCPConnector(limit=0)
    timeout = aiohttp.ClientTimeout(total=120)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
        contenders = [Contender("floor_http", "floor"), Contender("ours", "ours")]
        try:
            for one in contenders:
                await one.ready(session)
            idle = [one.rss_kib() for one in contenders]
            boots = [await boot_seconds(session, one) for one in contenders]
            rows = []
            for load in loads:
                row = await measure(session, load, contenders, options.slices)
                rows.append(row)
                print_row(row)
            stream_kib = [] if options.only else await stream_memory(session)
            alone_ms = None if options.only else await alone_first_ms()
        finally:
            for one in contenders:
                one.stop()
    return {
        "python": platform.python_version(),
        "versions": {name: version(name) for name in ("langgraph", "langchain-core", "uvicorn", "starlette")},
        "slices": options.slices,
        "cores": os.cpu_count(),
        "load_average": os.getloadavg()[0],
        "boot_cpu_ratio": boots[1] / boots[0],
        "rss_idle_ratio": idle[1] / idle[0],
        "open_stream_kib": stream_kib,
        "alone_first_ms": alone_ms,
        "rows": rows,
    }  # fmt: skip


async def boot_seconds(session: aiohttp.ClientSession, like: Contender) -> float:
    """Return the least CPU time from start to the first answer, of a few fresh processes."""
    seconds = []
    for _ in range(BOOTS):
        one = Contender(like.name, like.module)
        try:
            await one.ready(session)
            seconds.append(one.cpu_seconds())
        finally:
            one.stop()
    return min(seconds)


async def alone_first_ms() -> float:
    """Return the median first token of 500 runs in LangGraph alone."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(FOLDER / "alone.py"), cwd=FOLDER, stdout=asyncio.subprocess.PIPE
    )
    printed, _ = await process.communicate()
    print(f"LangGraph alone: first token of 500 runs {printed.decode().strip()} ms")
    return float(printed)


async def stream_memory(session: aiohttp.ClientSession) -> list[float]:
    """Measure open streams on fresh processes, floor first."""
    found = []
    for name, module in (("floor_http", "floor"), ("ours", "ours")):
        one = Contender(name, module)
        try:
            await one.ready(session)
            found.append(await open_stream_kib(session, one, OPEN_STREAMS))
        finally:
            one.stop()
    print(f"open stream: {found[0]:.1f} → {found[1]:.1f} KiB, ratio {found[1] / found[0]:.2f}")
    return found


async def open_stream_kib(session: aiohttp.ClientSession, one: Contender, streams: int) -> float:
    """Return what one open stream costs in resident memory."""
    body = {"model": "hold", "input": "hello", "stream": True}
    before = one.rss_kib()
    answers = await asyncio.gather(
        *(session.post(one.base + "/v1/responses", json=body) for _ in range(streams))
    )
    for answer in answers:
        await answer.content.readany()
    # The first event comes before the graph has started: wait until nothing grows any more.
    held = 0
    while (now := one.rss_kib() - before) > held:
        held = now
        await asyncio.sleep(1)
    for answer in answers:
        answer.close()
    return held / streams


def print_row(row: dict[str, Any]) -> None:
    first = ""
    if "first_ours_ms" in row:
        first = f"  first token {row['first_floor_ms']:8.1f} → {row['first_ours_ms']:8.1f} ms"
    target = f"  target {row['target']:.2f}" if row["target"] else " " * 13
    print(
        f"{row['workload']:18} {row['floor_us']:9.1f} → {row['ours_us']:9.1f} µs/{row['unit']:8}"
        f" ratio {row['ratio']:.2f}{target}{first}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slices", type=int, default=9)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--page", type=Path, help="write the reference page here")
    options = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 8192)), hard))
    result = asyncio.run(run(options))
    print(
        "ratios: "
        + " ".join(
            f"{row['workload'].replace(' ', '_')}={row['ratio']:.2f}" for row in result["rows"]
        )
    )
    print(
        f"boot CPU ratio {result['boot_cpu_ratio']:.2f}, idle RSS ratio {result['rss_idle_ratio']:.2f}"
    )
    if options.page:
        options.page.write_text(page(result))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
