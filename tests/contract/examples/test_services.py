"""Examples that use a service: a search with SearXNG's interface, and an OpenAI-compatible Files API."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import openai
import pytest

from house.serving import free_port
from support.programs import LGOS, running

FOUND = {
    "title": "Found",
    "url": "https://example.org/found",
    "content": "It was found.",
    "engine": "x",
}
DISPLAY: Any = {
    "type": "function",
    "name": "display_file",
    "strict": True,
    "parameters": {
        "type": "object",
        "properties": {"file_id": {"type": "string"}, "filename": {"type": "string"}},
        "required": ["file_id", "filename"],
        "additionalProperties": False,
    },
}


class Services(BaseHTTPRequestHandler):
    """Both services; remembers what it was sent."""

    seen: list[bytes] = []  # noqa: RUF012 - one list for the whole server

    def do_GET(self) -> None:
        query = parse_qs(urlsplit(self.path).query)
        assert query["format"] == ["json"]
        self.seen.append(query["q"][0].encode())
        self.reply({"results": [FOUND]})

    def do_POST(self) -> None:
        assert self.path == "/v1/files"
        self.seen.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.reply({"id": "file-made1", "object": "file"})

    def reply(self, document: Any) -> None:
        body = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: Any) -> None:
        """Stay quiet."""


@contextmanager
def services() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Services)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(scope="module")
def client() -> Iterator[openai.OpenAI]:
    port = free_port()
    with services() as service:
        environment = {"SEARXNG_URL": service, "FILES_BASE_URL": f"{service}/v1"}
        command = (LGOS, "dev", "-f", "examples/models", "--port", str(port))
        with running(*command, env=environment) as program:
            program.says("Base URL: ")
            url = f"http://127.0.0.1:{port}/v1"
            with openai.OpenAI(base_url=url, api_key="unused", max_retries=0) as made:
                yield made


def test_research_asks_the_search_service_and_cites_it(client: openai.OpenAI) -> None:
    tools: Any = [{"type": "web_search"}]
    response = client.responses.create(model="research", input="where is it?", tools=tools)
    search, message = response.output
    assert search.type == "web_search_call"
    assert b"where is it?" in Services.seen
    assert message.type == "message"
    part = message.content[0]
    assert part.type == "output_text"
    [citation] = part.annotations
    assert citation.type == "url_citation"
    assert citation.url == FOUND["url"]
    assert part.text[citation.start_index : citation.end_index + 1] == FOUND["content"]


def test_a_made_file_is_shown_by_the_client(client: openai.OpenAI) -> None:
    ledger: list[Any] = [
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "report"},
                {"type": "input_file", "file_id": "file-abc"},
            ],
        }
    ]
    first = client.responses.create(model="files", input=ledger, tools=[DISPLAY])
    [call] = first.output
    assert call.type == "function_call"
    assert json.loads(call.arguments) == {"file_id": "file-made1", "filename": "report.txt"}
    assert any(b"file-abc" in body for body in Services.seen)
    ledger += [
        call.model_dump(),
        {"type": "function_call_output", "call_id": call.call_id, "output": "report.txt"},
    ]
    last = client.responses.create(model="files", input=ledger, tools=[DISPLAY])
    assert last.output_text == "Shown: report.txt"
