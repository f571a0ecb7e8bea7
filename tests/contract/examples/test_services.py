"""Examples that use a service: a search with SearXNG's interface, and an OpenAI-compatible Files API."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.parser import BytesParser
from email.policy import HTTP
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import openai
import pytest

from house.serving import free_port
from support.programs import LGOS, finished, running

URL = "https://example.org/wiki/Found_(film)?a=b"
FOUND = [
    {"title": "Found [film]", "url": URL, "content": "It was found.", "engine": "x", "score": 1.0},
    {"title": "", "url": "https://example.org/bare", "content": None, "engine": "y"},
    {"title": "Third", "url": "https://example.org/3", "content": "Three."},
    {"title": "Fourth", "url": "https://example.org/4", "content": "One too many."},
]
SEARCH: Any = [{"type": "web_search"}]
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


@dataclass
class Services:
    """Both services as one server: what it keeps, and what it was sent."""

    url: str = ""
    files: dict[str, str] = field(default_factory=dict)
    queries: list[dict[str, list[str]]] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)


class Handler(BaseHTTPRequestHandler):
    def __init__(self, services: Services, *arguments: Any) -> None:
        self.services = services
        super().__init__(*arguments)

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        if parts.path == "/search":
            self.search(parse_qs(parts.query))
            return
        self.services.keys.add(self.headers["Authorization"])
        text = self.services.files.get(parts.path.split("/")[3])
        if text is None or not parts.path.endswith("/content"):
            self.reply(HTTPStatus.NOT_FOUND, b"{}")
            return
        self.reply(HTTPStatus.OK, text.encode(), "text/plain")

    def search(self, query: dict[str, list[str]]) -> None:
        self.services.queries.append(query)
        if query["q"] == ["break"]:
            self.reply(HTTPStatus.BAD_GATEWAY, b"an engine is down")
            return
        self.reply(HTTPStatus.OK, json.dumps({"query": query["q"][0], "results": FOUND}).encode())

    def do_POST(self) -> None:
        """Keep an uploaded file."""
        assert self.path == "/v1/files"
        head = f"Content-Type: {self.headers['Content-Type']}\r\n\r\n".encode()
        body = self.rfile.read(int(self.headers["Content-Length"]))
        form = BytesParser(policy=HTTP).parsebytes(head + body)
        parts = {part.get_param("name", header="Content-Disposition"): part for part in form.iter_parts()}  # fmt: skip
        assert parts["purpose"].get_payload() == "user_data"
        file_id = f"file-{len(self.services.files)}"
        self.services.files[file_id] = parts["file"].get_payload(decode=True).decode()
        made = {"id": file_id, "object": "file", "filename": parts["file"].get_filename()}
        self.reply(HTTPStatus.OK, json.dumps(made).encode())

    def reply(self, status: int, body: bytes, kind: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: Any) -> None:
        """Stay quiet."""


@contextmanager
def served(services: Services) -> Iterator[None]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, services))
    services.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(scope="module")
def services() -> Iterator[Services]:
    services = Services()
    with served(services):
        yield services


@pytest.fixture(scope="module")
def served_url(services: Services) -> Iterator[str]:
    port = free_port()
    env = {
        "SEARXNG_URL": f"{services.url}/",
        "FILES_BASE_URL": f"{services.url}/v1",
        "FILES_API_KEY": "of-the-graph",
    }
    with running(LGOS, "dev", "-f", "examples/models", "--port", str(port), env=env) as program:
        program.says("Base URL: ")
        yield f"http://127.0.0.1:{port}/v1"


@pytest.fixture
def asking(served_url: str) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=served_url, api_key="unused", max_retries=0) as made:
        yield made


def asked_about(*file_ids: str) -> list[Any]:
    content = [{"type": "input_file", "file_id": file_id} for file_id in file_ids]
    return [{"role": "user", "content": content}]


def test_research_asks_the_search_service_and_cites_it(
    asking: openai.OpenAI, services: Services
) -> None:
    with asking.responses.stream(model="research", input="where?", tools=SEARCH) as stream:
        response: Any = stream.until_done().get_final_response()
    search, message = response.output
    assert services.queries[-1] == {"q": ["where?"], "format": ["json"]}
    assert (search.type, search.status, search.action.query) == (
        "web_search_call",
        "completed",
        "where?",
    )
    [part] = message.content
    spans = [
        (note.url, part.text[note.start_index : note.end_index + 1]) for note in part.annotations
    ]
    assert spans == [
        (URL, f"[Found film]({URL})"),
        ("https://example.org/bare", "[https://example.org/bare](https://example.org/bare)"),
        ("https://example.org/3", "[Third](https://example.org/3)"),
    ]


def test_a_search_that_fails_is_told_and_answered(asking: openai.OpenAI) -> None:
    response: Any = asking.responses.create(model="research", input="break", tools=SEARCH)
    search, message = response.output
    assert (search.type, search.status) == ("web_search_call", "failed")
    assert message.content[0].text == "This tool failed."
    assert message.content[0].annotations == []


def test_files_are_read_by_their_ids_in_both_apis(
    asking: openai.OpenAI, services: Services
) -> None:
    services.files["file-two"] = "two words"
    told = "Words in file-two: 2"
    response = asking.responses.create(model="files", input=asked_about("file-two", "../file-x"))
    assert response.output_text == f"{told}\nThere is no file ../file-x."
    completion = asking.chat.completions.create(
        model="files",
        messages=[{"role": "user", "content": [{"type": "file", "file": {"file_id": "file-two"}}]}],
    )
    assert completion.choices[0].message.content == told
    assert "Bearer of-the-graph" in services.keys


def test_a_made_file_is_shown_by_the_client(asking: openai.OpenAI, services: Services) -> None:
    services.files["file-one"] = "word"
    ledger = asked_about("file-one")
    first = asking.responses.create(model="files", input=ledger, tools=[DISPLAY])
    [call] = first.output
    assert call.type == "function_call"
    shown = json.loads(call.arguments)
    assert shown["filename"] == "report.txt"
    assert services.files[shown["file_id"]] == "Words in file-one: 1"
    # Neither bytes nor links: the id is all that the transcript has.
    assert "Words in" not in first.model_dump_json()
    assert services.url not in first.model_dump_json()
    result = {"type": "function_call_output", "call_id": call.call_id, "output": "report.txt"}
    last = asking.responses.create(model="files", input=[*ledger, call, result], tools=[DISPLAY])
    assert last.output_text == "Shown: report.txt"


def test_the_files_client_shows_what_the_graph_made(served_url: str, services: Services) -> None:
    env = {
        "OPENAI_BASE_URL": served_url,
        "OPENAI_API_KEY": "unused",
        "FILES_BASE_URL": f"{services.url}/v1",
    }
    result = finished(sys.executable, "examples/client_files.py", env=env)
    assert result.returncode == 0, result.stderr
    first, second = result.stdout.splitlines()
    assert first.startswith("report.txt: Words in file-")
    assert first.endswith(": 3")
    assert second == "Shown: report.txt"
