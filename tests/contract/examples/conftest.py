"""The example models, served by `lgos dev` without a key and without a network."""

from __future__ import annotations

from collections.abc import Iterator

import openai
import pytest

from house.serving import free_port
from support.programs import LGOS, running


@pytest.fixture(scope="session")
def base_url() -> Iterator[str]:
    port = free_port()
    alone = {"SEARXNG_URL": "", "FILES_BASE_URL": ""}
    with running(LGOS, "dev", "-f", "examples/models", "--port", str(port), env=alone) as program:
        program.says("Base URL: ")
        yield f"http://127.0.0.1:{port}/v1"


@pytest.fixture
def client(base_url: str) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=base_url, api_key="unused", max_retries=0) as client:
        yield client
