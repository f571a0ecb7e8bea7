"""`lgos dev` as a person runs it: a process, files that change under it, and the OpenAI SDK in front of it."""

from __future__ import annotations

import os
import re
import shlex
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import openai
import pytest

from support.programs import LGOS, Program, finished, running, status

GRAPH = """
import asyncio
from langchain_core.messages import AIMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from words import WORD


async def node(state):
    if state["messages"][-1].text == "wait":
        await asyncio.sleep(300)
    return {"messages": [AIMessage(WORD)]}


builder = StateGraph(MessagesState)
builder.add_node("node", node)
builder.add_edge(START, "node")
builder.add_edge("node", END)
graph = builder.compile()
"""
MANIFEST = """
apiVersion: lgos.dev/v1alpha1
kind: LanggraphModel
metadata: {name: agent}
spec: {image: any, graph: agent:graph, description: One}
"""


class Workshop:
    """A folder with a graph and its manifest, served by `lgos dev`."""

    def __init__(self, folder: Path, program: Program) -> None:
        self.folder, self.program = folder, program
        program.says("Base URL: ")
        found = re.search(r"Base URL: (\S+)/v1 ", program.output())
        assert found is not None
        self.url = found[1]

    def client(self) -> openai.OpenAI:
        return openai.OpenAI(base_url=f"{self.url}/v1", api_key="unused", max_retries=0)

    def server(self) -> int:
        """The process id of what `lgos dev` started."""
        pid = self.program.process.pid
        [child] = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return int(child)

    def answer(self) -> str | None:
        with self.client() as client:
            completion = client.chat.completions.create(
                model="agent", messages=[{"role": "user", "content": "Hi"}]
            )
        return completion.choices[0].message.content


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def set_up(folder: Path) -> None:
    (folder / "agent.py").write_text(GRAPH)
    (folder / "words.py").write_text('WORD = "one"\n')
    (folder / "models").mkdir()
    (folder / "models/agent.yaml").write_text(MANIFEST)


@contextmanager
def developing(folder: Path) -> Iterator[Workshop]:
    command = (LGOS, "dev", "-f", "models", "--port", "0")
    with running(*command, cwd=folder) as program:
        yield Workshop(folder, program)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    set_up(tmp_path)
    return tmp_path


def test_banner_has_a_request_to_copy_that_is_answered(folder: Path) -> None:
    (folder / "models/other.yaml").write_text(
        "apiVersion: v1\nkind: Secret\nmetadata: {name: key}\n"
    )
    with developing(folder) as workshop:
        printed = workshop.program.output()
        assert "skipped: Secret key (models/other.yaml) is no LanggraphModel" in printed
        assert "  agent  One\n" in printed
        [request] = re.findall(r"^  (curl .*?\n.*?)$", printed, re.MULTILINE)
        result = subprocess.run(["bash", "-c", request], capture_output=True, text=True, timeout=20)
        assert '"content":"one"' in result.stdout, shlex.quote(request)


def test_changes_of_graph_and_manifest_are_served_and_mistakes_are_told(folder: Path) -> None:
    with developing(folder) as workshop:
        program = workshop.program
        assert workshop.answer() == "one"

        # The same size within the same second: bytecode of the old text must not be taken for it.
        (folder / "words.py").write_text('WORD = "two"\n')
        program.says("words.py changed; starting again")
        program.says("Base URL: ", times=2)
        assert workshop.answer() == "two"

        (folder / "words.py").write_text("WORD =\n")
        program.says("module 'agent' cannot be imported: words.py, line 1 is not valid Python")
        program.says("nothing is served until a file changes")
        assert status(f"{workshop.url}/healthz") == 0
        assert "Traceback" not in program.output()

        (folder / "words.py").write_text('WORD = "three"\n')
        program.says("Base URL: ", times=3)
        assert workshop.answer() == "three"

        (folder / "models/agent.yaml").write_text(MANIFEST.replace("description", "descripton"))
        program.says(
            "models/agent.yaml: spec.descripton: there is no such field; did you mean 'description'?"
        )
        (folder / "models/second.yaml").write_text(MANIFEST.replace("agent}", "second}"))
        (folder / "models/agent.yaml").write_text(MANIFEST)
        program.says("Serving 2 models:")
        with workshop.client() as client:
            assert {model.id for model in client.models.list()} == {"agent", "second"}


def test_mistake_at_the_first_start_ends_the_command(folder: Path) -> None:
    (folder / "words.py").write_text("import absent_library\n")
    result = finished(LGOS, "dev", "-f", "models", cwd=folder)
    assert result.returncode == 1
    assert result.stderr == (
        "lgos dev: module 'agent' cannot be imported because it needs the module 'absent_library',"
        " which is not installed here; install the package that has 'absent_library'\n"
    )


def test_graph_that_ends_the_process_is_told(folder: Path) -> None:
    (folder / "words.py").write_text("import os\nos._exit(7)\n")
    result = finished(LGOS, "dev", "-f", "models", cwd=folder)
    assert result.returncode == 1
    assert "the server ended with exit code 7 before it served" in result.stderr


def test_port_in_use_is_told_with_the_option_that_changes_it(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        result = finished(LGOS, "dev", "-f", "models", "--port", port, cwd=folder)
    assert result.returncode == 1
    assert result.stderr == (
        f"lgos dev: port {port} on 127.0.0.1 is in use; stop the program that has it or choose another"
        " port with --port\n"
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_ends_both_processes_and_an_open_request_does_not_hold_them(
    folder: Path, number: signal.Signals
) -> None:
    with developing(folder) as workshop, workshop.client() as client:
        server = workshop.server()
        stream = client.responses.create(model="agent", input="wait", stream=True)
        assert next(iter(stream)).type == "response.created"
        begin = time.monotonic()
        workshop.program.process.send_signal(number)
        assert [event.type for event in stream][-1] == "response.failed"
        assert workshop.program.exit_code(15) == 0
        assert time.monotonic() - begin < 10
        assert not is_running(server)


def test_server_does_not_outlive_a_killed_command(folder: Path) -> None:
    with developing(folder) as workshop:
        server = workshop.server()
        workshop.program.process.kill()
        workshop.program.until(lambda: not is_running(server), seconds=15)


def test_server_that_dies_is_told_and_comes_back_with_the_next_change(folder: Path) -> None:
    with developing(folder) as workshop:
        server = workshop.server()
        os.kill(server, signal.SIGKILL)
        workshop.program.says("the server has ended; nothing is served until a file changes")
        (folder / "words.py").write_text('WORD = "back"\n')
        workshop.program.says("Base URL: ", times=2)
        assert workshop.answer() == "back"


def test_output_that_nobody_reads_is_no_failure(folder: Path) -> None:
    result = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {LGOS} render -f models | true"],
        cwd=folder, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert "Traceback" not in result.stderr
    assert "Broken" not in result.stderr
