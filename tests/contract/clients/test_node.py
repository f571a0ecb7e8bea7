"""OpenAI's client for Node.js finishes a tool loop against LGOS."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from langgraph_openai_serve import GraphRegistry, LanggraphOpenaiServe
from support.serving import loopback
from support.tool_graphs import first_tool
from tools.cache import building, cache_dir, digest

FOLDER = Path(__file__).parent / "node"


def installed() -> Path:
    """The client, installed once for its lock file; skips, or fails in CI, where Node.js is missing."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        reason = "OpenAI's Node.js client needs node and npm"
        if os.environ.get("CI") == "true":
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)
    files = [FOLDER / "package.json", FOLDER / "package-lock.json"]
    target = cache_dir() / f"node-{digest(files)}"
    with building(target) as scratch:
        if scratch is not None:
            for file in files:
                shutil.copy(file, scratch)
            install = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
            subprocess.run(install, cwd=scratch, check=True, timeout=300)
    return target


async def test_a_tool_loop_ends_with_the_answer(tmp_path: Path) -> None:
    folder = await asyncio.to_thread(installed)
    (tmp_path / "node_modules").symlink_to(folder / "node_modules")
    script = shutil.copy(FOLDER / "loop.mjs", tmp_path)
    server = LanggraphOpenaiServe(GraphRegistry({"tools": first_tool()})).bind_openai_api()
    async with loopback(server.app) as origin:
        process = await asyncio.create_subprocess_exec(
            "node",
            script,
            f"{origin}/v1",
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, errors = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 0, errors.decode()
    told = [json.loads(line) for line in out.decode().splitlines()]
    assert told.pop() == {"api": "error", "status": 404, "param": "model"}
    assert [(way["api"], way["streamed"]) for way in told] == [
        ("responses", False),
        ("responses", True),
        ("chat", False),
        ("chat", True),
    ]
    for way in told:
        assert json.loads(way["arguments"]) == {"location": "San Francisco"}
        assert way["text"] == "Tool said: sunny"
