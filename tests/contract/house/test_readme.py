"""The commands of the README do what it promises."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from house import snippets
from house.serving import BIN, environment, free_port, serving

ROOT = Path(__file__).parents[3]
README = ROOT / "README.md"
SHELL = [
    block
    for page in snippets.pages()
    for block in snippets.blocks(page)
    if block.language == "bash"
]
MAKE = re.compile(r"\bmake ([a-z]+)\b")
LGOS = re.compile(r"\blgos ([a-z]+)\b")


@pytest.fixture(scope="module")
def demo_port() -> Iterator[int]:
    """The port of `make demo`, served from this clone's environment."""
    port = free_port()
    with serving(["make", "demo", f"PORT={port}"], port, ROOT, environment()):
        yield port


def curl_block() -> str:
    [block] = [
        block.body
        for block in snippets.blocks(README)
        if "/v1/chat/completions" in block.body and block.language == "bash"
    ]
    return block


def test_first_curl_of_the_readme_is_answered(demo_port: int) -> None:
    result = subprocess.run(
        ["bash", "-euc", curl_block().replace(":8000", f":{demo_port}")],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    answer = json.loads(result.stdout)
    assert answer["object"] == "chat.completion"
    assert "Hello" in answer["choices"][0]["message"]["content"]


@pytest.mark.parametrize("name", ["client_chat.py", "client_responses.py"])
def test_client_of_the_readme_is_answered(demo_port: int, name: str) -> None:
    result = subprocess.run(
        [BIN / "python", f"examples/{name}"],
        cwd=ROOT,
        env=environment(OPENAI_BASE_URL=f"http://127.0.0.1:{demo_port}/v1", OPENAI_API_KEY="unused"),
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip()


@pytest.mark.parametrize("block", SHELL, ids=str)
def test_commands_of_the_docs_exist(block: snippets.Block) -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(MAKE.findall(block.body)) <= targets
    shown = subprocess.run(
        [BIN / "lgos", "--help"], capture_output=True, text=True, check=True, timeout=60
    )
    known = set(re.findall(r"[a-z]+", shown.stdout))
    assert set(LGOS.findall(block.body)) <= known | {"charts"}


@pytest.mark.parametrize("block", SHELL, ids=str)
def test_files_that_the_docs_commands_name_exist(block: snippets.Block) -> None:
    folders = ("examples/", "docs/", "charts/", "server/", "operator/", "tests/")
    words = shlex.split(block.body, comments=True)
    missing = [word for word in words if word.startswith(folders) and not (ROOT / word).exists()]
    assert missing == []
