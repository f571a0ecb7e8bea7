"""`lgos serve` as the operator starts it: a mounted registry entry in, an OpenAI API and metrics out, a drain at the end."""

from __future__ import annotations

import http.client
import json
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import openai
import pytest

from house.serving import free_port
from lgos_contract.registry import ModelState, RegistryEntry, dump_entry
from support.programs import LGOS, Program, finished, running, status

GRAPHS = """
import asyncio, re
from contextlib import asynccontextmanager
from pathlib import Path

from langchain_core.messages import AIMessage
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.runtime import Runtime

from langgraph_openai_serve import ClientSettings, GraphConfig, GraphFeature
from langgraph_openai_serve.testing import ScriptedChatModel


class Settings(ClientSettings):
    tone: str = "plain"
    level: int = 1


def graph_of(node, context=None):
    builder = StateGraph(MessagesState, context_schema=context)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    builder.add_edge("node", END)
    return builder.compile()


def tone(state, runtime: Runtime[Settings]):
    return {"messages": [AIMessage(f"{runtime.context.tone} {runtime.context.level}")]}


config = GraphConfig(
    graph=graph_of(tone, Settings), description="From the image.", client_settings=Settings
)


async def talk(state):
    seconds = float(state["messages"][-1].text)
    model = ScriptedChatModel(chunks=["a"] * 10, delay_seconds=seconds / 10)
    return {"messages": [await model.ainvoke(state["messages"])]}


slow = graph_of(talk)


@asynccontextmanager
async def with_resource():
    Path("resource").write_text("open")
    try:
        yield GraphConfig(graph=slow, description="Has a resource.")
    finally:
        Path("resource").write_text("closed")


def broken():
    raise ConnectionError("no route to the database")
"""


class Pod:
    """The surroundings of one `lgos serve`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "team_graphs.py").write_text(GRAPHS)
        self.registry = folder / "registry"
        self.registry.mkdir()
        self.termination_log = folder / "termination-log"
        self.termination_log.touch()
        self.port, self.metrics_port = free_port(), free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.env = {
            "LGOS_MODEL": "research",
            "LGOS_REGISTRY_DIR": str(self.registry),
            "LGOS_HOST": "127.0.0.1",
            "LGOS_PORT": str(self.port),
            "LGOS_METRICS_PORT": str(self.metrics_port),
            "LGOS_TERMINATION_LOG": str(self.termination_log),
        }

    def mount(self, graph: str, **values: Any) -> RegistryEntry:
        """Write the entry as the operator would."""
        entry = RegistryEntry(
            id="team/research", namespace="team-a", name="research", graph=f"team_graphs:{graph}",
            base_url="http://research-api.team-a.svc:8000/v1", state=ModelState.STARTING,
            created=1700000000, owned_by="team-a", **values,
        )  # fmt: skip
        entry = entry.model_copy(update={"revision": entry.digest()})
        (self.registry / "research.json").write_text(dump_entry(entry))
        self.env["LGOS_REVISION"] = entry.revision
        return entry

    @contextmanager
    def serving(self, **env: str) -> Iterator[Program]:
        with running(LGOS, "serve", cwd=self.folder, env={**self.env, **env}) as program:
            program.says("serving team/research")
            yield program

    def metrics(self) -> str:
        with urllib.request.urlopen(
            f"http://127.0.0.1:{self.metrics_port}/metrics", timeout=5
        ) as answer:
            return str(answer.read().decode())

    def client(self) -> openai.OpenAI:
        return openai.OpenAI(base_url=f"{self.url}/v1", api_key="unused", max_retries=0)


@pytest.fixture
def pod(tmp_path: Path) -> Pod:
    return Pod(tmp_path)


class Listener(threading.Thread):
    """Reads one streamed Response in the background."""

    def __init__(self, client: openai.OpenAI, seconds: float) -> None:
        super().__init__()
        self.began = threading.Event()
        self.events: list[Any] = []
        self._client, self._seconds = client, seconds
        self.start()
        assert self.began.wait(20), "the stream did not begin"

    def run(self) -> None:
        for event in self._client.responses.create(
            model="team/research", input=str(self._seconds), stream=True
        ):
            self.events.append(event)
            self.began.set()


def test_a_lenient_entry_ignores_and_tells_in_header_and_metric(pod: Pod) -> None:
    pod.mount("config", unsupported_fields="Ignore")
    with pod.serving(), pod.client() as client:
        raw = client.responses.with_raw_response.create(
            model="team/research", input="Hi", temperature=0.2, top_p=0.9
        )
        assert raw.headers["x-lgos-ignored-fields"] == "temperature,top_p"
        lines = pod.metrics().splitlines()
    for field in ("temperature", "top_p"):
        counted = f'lgos_ignored_fields_total{{field="{field}",model="team/research"}} 1.0'
        assert counted in lines, [line for line in lines if "ignored" in line]


def test_model_is_served_as_its_entry_says(pod: Pod) -> None:
    pod.mount("config", description="From the manifest.", settings={"tone": "formal"})
    with pod.serving(), pod.client() as client:
        [listed] = client.models.list().data
        assert (listed.id, listed.created, listed.owned_by) == (
            "team/research",
            1700000000,
            "team-a",
        )
        facts = client.models.retrieve("team/research").model_extra["lgos"]
        assert facts["description"] == "From the manifest."
        assert facts["client_settings"]["defaults"] == {"tone": "formal", "level": 1}
        answer = client.chat.completions.create(
            model="team/research", messages=[{"role": "user", "content": "Hi"}]
        )
        assert answer.choices[0].message.content == "formal 1"
        lines = pod.metrics().splitlines()
        counted = 'lgos_runs_finished_total{api="chat_completions",mode="sync",model="team/research",status="completed"} 1.0'
        assert any(line.startswith("process_resident_memory_bytes") for line in lines)
        assert counted in lines, [line for line in lines if "finished_total" in line]
    assert pod.termination_log.read_text() == ""


def test_sigterm_lets_short_streams_end_and_tells_long_ones(pod: Pod) -> None:
    pod.mount("slow", description="Talks for as many seconds as it is told.")
    with pod.serving(LGOS_DRAIN_SECONDS="6") as program, pod.client() as client:
        short, long = Listener(client, 2), Listener(client, 300)
        begin = time.monotonic()
        program.terminate()
        program.until(lambda: status(f"{pod.url}/readyz") == 503, seconds=1)
        assert status(f"{pod.url}/healthz") == 200
        assert "lgos_draining 1.0" in pod.metrics()
        short.join(20)
        assert short.events[-1].type == "response.completed"
        assert short.events[-1].response.output_text == "a" * 10
        assert program.process.poll() is None
        assert "lgos_draining 1.0" in pod.metrics()
        long.join(20)
        assert long.events[-1].type == "response.failed"
        assert "shutting down" in long.events[-1].response.error.message
        assert program.exit_code(10) == 0
        assert 5 < time.monotonic() - begin < 15


def test_answers_during_a_drain_close_their_connections(pod: Pod) -> None:
    pod.mount("slow", description="Talks.")
    with pod.serving(LGOS_DRAIN_SECONDS="10") as program, pod.client() as client:
        stream = Listener(client, 3)
        connection = http.client.HTTPConnection("127.0.0.1", pod.port, timeout=10)
        connection.request("GET", "/v1/models")
        before = connection.getresponse()
        before.read()
        assert before.headers["connection"] is None
        program.terminate()
        program.until(lambda: status(f"{pod.url}/readyz") == 503, seconds=1)
        connection.request("GET", "/v1/models")
        during = connection.getresponse()
        assert (during.status, during.headers["connection"]) == (200, "close")
        connection.close()
        stream.join(20)
        assert stream.events[-1].type == "response.completed"
        assert program.exit_code(10) == 0


def test_idle_process_ends_at_once_on_sigterm(pod: Pod) -> None:
    pod.mount("slow", description="Talks.")
    with pod.serving(LGOS_DRAIN_SECONDS="30") as program:
        program.terminate()
        assert program.exit_code(5) == 0


def test_resources_of_a_factory_are_open_while_it_serves(pod: Pod) -> None:
    pod.mount("with_resource")
    with pod.serving() as program:
        assert (pod.folder / "resource").read_text() == "open"
        program.terminate()
        assert program.exit_code() == 0
    assert (pod.folder / "resource").read_text() == "closed"


def test_pod_waits_for_the_revision_that_it_was_rendered_for(pod: Pod) -> None:
    new = pod.mount("config", settings={"tone": "new"}).revision
    text = (pod.registry / "research.json").read_text()
    pod.mount("config", settings={"tone": "old"})
    pod.env |= {"LGOS_REVISION": new, "LGOS_LOG_LEVEL": "debug"}
    with running(LGOS, "serve", cwd=pod.folder, env=pod.env) as program:
        program.says("waiting: ")
        assert status(f"{pod.url}/readyz") == 0
        (pod.registry / "research.json").write_text(text)
        program.says("serving team/research")
        with pod.client() as client:
            facts = client.models.retrieve("team/research").model_extra["lgos"]
        assert facts["client_settings"]["defaults"]["tone"] == "new"


def test_sigterm_ends_a_pod_that_still_waits_for_its_entry(pod: Pod) -> None:
    pod.env["LGOS_LOG_LEVEL"] = "debug"
    with running(LGOS, "serve", cwd=pod.folder, env=pod.env) as program:
        program.says("waiting: the model registry has no readable entry")
        program.terminate()
        assert program.exit_code(5) == 0


@pytest.mark.parametrize(
    ("graph", "values", "words"),
    [
        ("broken", {}, ["'team_graphs:broken'", "ConnectionError: no route to the database"]),
        (
            "config",
            {"features": ("client_events",)},
            ["client_events", "GraphFeature.CLIENT_EVENTS"],
        ),
        ("config", {"settings": {"level": "high"}}, ["team/research", "level"]),
    ],
)
def test_mistake_is_one_sentence_in_the_log_and_in_the_termination_log(
    pod: Pod, graph: str, values: dict[str, Any], words: list[str]
) -> None:
    pod.mount(graph, **values)
    result = finished(LGOS, "serve", cwd=pod.folder, env=pod.env)
    assert result.returncode == 1
    sentence = pod.termination_log.read_text()
    assert [word for word in words if word not in sentence] == []
    assert result.stderr == f"lgos serve: {sentence}\n"


def test_port_in_use_is_told_with_the_variable_that_changes_it(pod: Pod) -> None:
    pod.mount("config")
    with pod.serving():
        for variable, other in (
            ("LGOS_METRICS_PORT", {}),
            ("LGOS_PORT", {"LGOS_METRICS_PORT": str(free_port())}),
        ):
            result = finished(LGOS, "serve", cwd=pod.folder, env={**pod.env, **other})
            assert result.returncode == 1
            assert "is in use" in result.stderr
            assert variable in result.stderr
            assert "Traceback" not in result.stderr


def test_debug_level_shows_where_a_mistake_was_found(pod: Pod) -> None:
    pod.mount("broken")
    result = finished(LGOS, "serve", cwd=pod.folder, env={**pod.env, "LGOS_LOG_LEVEL": "debug"})
    assert "Traceback" in result.stderr
    assert result.stderr.endswith(f"lgos serve: {pod.termination_log.read_text()}\n")


def test_idle_connection_stays_open_longer_than_a_minute_by_default_and_is_adjustable(
    pod: Pod,
) -> None:
    pod.mount("config")
    with pod.serving(LGOS_KEEP_ALIVE_SECONDS="1") as program:
        connection = http.client.HTTPConnection("127.0.0.1", pod.port, timeout=10)
        connection.request("GET", "/v1/models")
        assert json.loads(connection.getresponse().read())["object"] == "list"
        peer = connection.sock
        begin = time.monotonic()
        assert peer.recv(1) == b""  # the server closes
        assert 0.5 < time.monotonic() - begin < 5
        connection.close()
        assert program.process.poll() is None
