"""The examples answer through `lgos dev` as the README promises, without a key and without a network."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import openai
import pytest
import yaml

from house.serving import free_port
from langgraph_openai_serve.cli.main import main
from support.programs import LGOS, ROOT, finished, running

TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}  # fmt: skip
MANIFESTS = sorted((ROOT / "examples/models").glob("*.yaml"))
OVERVIEW = "[LangGraph overview](https://docs.langchain.com/oss/python/langgraph/overview)"
BUILDS = f"LangGraph builds stateful agents as graphs of steps. {OVERVIEW}"
STORY = "Once upon a time somebody asked about"
ANSWERS = {
    "client_chat.py": ["Echo: Hello", f"{STORY} streaming."],
    "client_citations.py": [BUILDS, f"{OVERVIEW} is LangGraph overview", OVERVIEW[21:-1]],
    "client_responses.py": ["ECHO: HELLO", "Thinking of a story", "Writing it down", STORY, "37 output tokens"],
    "client_server_tools.py": [
        "package_version(langgraph)", "searched for: What does LangGraph build?", "said: langgraph 1.",
        "langgraph 1.", BUILDS, OVERVIEW, "The Responses API returns typed items",
    ],
    "client_settings.py": [
        "{'audience': 'beginner', 'layout': {'bullets': False, 'facts': 2}}",
        "In plain words: A graph has nodes. Edges say which node is next. You have the free plan.",
        "In short:", "- A graph", "- Edges", "- All nodes", "- You have the free plan.",
    ],
    "client_status.py": ["(Thinking of a story)", "(Writing it down)", f"{STORY} progress.", "37 words"],
    "client_tools.py": ['get_weather({"city":"Oslo"}) is snow', 'get_weather({"city":"Rome"}) is sun', "The function says: snow, sun"],
}  # fmt: skip


def test_all_models_are_listed_with_their_facts(client: openai.OpenAI) -> None:
    facts = {model.id: model.model_extra["lgos"] for model in client.models.list()}
    assert {name: fact["features"] for name, fact in facts.items()} == {
        "citations": [],
        "echo": [],
        "files": [],
        "lenient": [],
        "refunds": ["interrupts"],
        "research": [],
        "settings": [],
        "tools": [],
        "writer": ["client_events"],
    }


def test_lenient_model_names_what_it_leaves_out(client: openai.OpenAI) -> None:
    raw = client.responses.with_raw_response.create(model="lenient", input="hi", temperature=0.2)
    assert raw.headers["x-lgos-ignored-fields"] == "temperature"
    with pytest.raises(openai.BadRequestError) as caught:
        client.responses.create(model="tools", input="hi", temperature=0.2)
    assert caught.value.param == "temperature"


def test_echo_answers_chat_with_the_manifests_settings(client: openai.OpenAI) -> None:
    completion = client.chat.completions.create(
        model="echo", messages=[{"role": "user", "content": "Hello"}]
    )
    assert completion.choices[0].message.content == "Echo: Hello"


def test_echo_answers_responses_with_the_requests_settings(client: openai.OpenAI) -> None:
    response = client.responses.create(
        model="echo", input="Hello", metadata={"lgos_settings": '{"shout": true}'}
    )
    assert response.output_text == "ECHO: HELLO"


def test_writer_streams_chat_word_by_word(client: openai.OpenAI) -> None:
    chunks = client.chat.completions.create(
        model="writer", messages=[{"role": "user", "content": "rain"}], stream=True
    )
    words = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices]
    assert len([word for word in words if word]) > 20
    assert "asked about rain." in "".join(word or "" for word in words)


def test_writer_streams_responses_with_its_progress(client: openai.OpenAI) -> None:
    with client.responses.stream(model="writer", input="rain") as stream:
        events = list(stream)
        final = stream.get_final_response()
    deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
    assert "Thinking of a story" in deltas
    assert final.output_text.endswith("The end.")
    assert final.usage is not None
    assert final.usage.output_tokens > 20


def test_tool_caller_calls_and_then_answers_in_chat(client: openai.OpenAI) -> None:
    question = {"role": "user", "content": "Oslo"}
    first = client.chat.completions.create(model="tools", messages=[question], tools=[TOOL])
    [call] = first.choices[0].message.tool_calls
    assert first.choices[0].finish_reason == "tool_calls"
    assert (call.function.name, json.loads(call.function.arguments)) == (
        "get_weather",
        {"city": "Oslo"},
    )
    result = {"role": "tool", "tool_call_id": call.id, "content": "snow"}
    second = client.chat.completions.create(
        model="tools",
        messages=[question, first.choices[0].message.model_dump(exclude_none=True), result],
        tools=[TOOL],
    )
    assert second.choices[0].message.content == "The function says: snow"


def test_tool_caller_calls_and_then_answers_in_responses(client: openai.OpenAI) -> None:
    tool = {"type": "function", "strict": False, **TOOL["function"]}
    first = client.responses.create(model="tools", input="Oslo", tools=[tool])
    [call] = first.output
    assert (call.type, json.loads(call.arguments)) == ("function_call", {"city": "Oslo"})
    items = [
        {"role": "user", "content": "Oslo"},
        call.model_dump(exclude_none=True),
        {"type": "function_call_output", "call_id": call.call_id, "output": "snow"},
    ]
    second = client.responses.create(model="tools", input=items, tools=[tool])
    assert second.output_text == "The function says: snow"


def test_tool_caller_without_functions_says_so(client: openai.OpenAI) -> None:
    response = client.responses.create(model="tools", input="Oslo")
    assert response.output_text == "Give me a function and I will call it."


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_sdk_snippets_print_their_answers(base_url: str, name: str) -> None:
    env = {"OPENAI_BASE_URL": base_url, "OPENAI_API_KEY": "unused"}
    result = finished(sys.executable, f"examples/{name}", env=env)
    assert result.returncode == 0, result.stderr
    printed, lines = result.stdout.splitlines(), ANSWERS[name]
    assert len(printed) == len(lines)
    pairs = zip(printed, lines, strict=True)
    assert [line for line, start in pairs if not line.startswith(start)] == []


def test_every_sdk_snippet_is_run_by_a_test() -> None:
    snippets = {path.name for path in (ROOT / "examples").glob("client_*.py")}
    assert snippets - set(ANSWERS) == {"client_approve.py", "client_files.py"}


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda path: path.stem)
def test_lgos_check_takes_the_graph_of_each_manifest(
    manifest: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph = yaml.safe_load(manifest.read_text())["spec"]["graph"]
    assert main(["check", graph, "--path", str(ROOT / "examples")]) == 0
    assert capsys.readouterr().out.startswith(f"{graph} is a GraphConfig that can be served.")


def test_chat_example_says_that_it_needs_a_key() -> None:
    result = finished(
        LGOS, "check", "lgos_examples.chat:make_config", "--path", "examples", env={"OPENAI_API_KEY": ""}
    )  # fmt: skip
    assert result.returncode == 1
    assert "set OPENAI_API_KEY" in result.stderr


def test_chat_example_asks_an_openai_compatible_model(base_url: str) -> None:
    port = free_port()
    env = {"OPENAI_BASE_URL": base_url, "OPENAI_API_KEY": "unused", "CHAT_MODEL": "writer"}
    with running(
        LGOS, "dev", "-f", "examples/with-key/chat.yaml", "--port", str(port), env=env
    ) as program:
        program.says("Base URL: ")
        with openai.OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="unused") as client:
            chunks = client.chat.completions.create(
                model="chat", messages=[{"role": "user", "content": "layers"}], stream=True
            )
            words = [chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices]
    assert len(words) > 20
    assert "asked about layers." in "".join(words)


@pytest.mark.parametrize(
    "manifest", sorted((ROOT / "examples").glob("*/*.yaml")), ids=lambda path: path.stem
)
def test_manifests_are_short(manifest: Path) -> None:
    assert len(manifest.read_text().splitlines()) <= 15
