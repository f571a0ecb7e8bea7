"""Judges transcripts with the `openai` package that is installed beside it.

Every event is validated strictly against the package's own type, keys that the type does not know are listed, and the
package's accumulators are compared with what the stream says at its end. Needs nothing but `openai`, so the same file
runs in the project's environment and in one with the oldest supported package:
`python judge.py transcript.sse …` prints one JSON document and exits with 1 when there is a problem.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, get_args

import openai
from openai._models import construct_type
from openai._types import omit
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.lib.streaming.responses._responses import ResponseStreamState
from openai.types.chat import ChatCompletionChunk
from openai.types.responses import ResponseStreamEvent
from pydantic import BaseModel, TypeAdapter, ValidationError

TERMINAL = {"response.completed", "response.incomplete", "response.failed"}


@cache
def event_types() -> dict[str, Any]:
    """The package's event models by the value of their `type`."""
    union, *_ = get_args(ResponseStreamEvent)
    return {get_args(model.model_fields["type"].annotation)[0]: model for model in get_args(union)}


def data_lines(text: str) -> list[str]:
    return [line[6:] for line in text.split("\n") if line.startswith("data: ")]


def judge(text: str) -> tuple[list[str], set[str]]:
    """Return the problems of a transcript, and the keys that the package's types do not know."""
    lines = data_lines(text)
    if text.startswith("event: "):
        return judge_responses(lines)
    return judge_chat(lines)


def judge_responses(lines: list[str]) -> tuple[list[str], set[str]]:
    types = event_types()
    problems: list[str] = []
    unknown: set[str] = set()
    for line in lines:
        kind = json.loads(line)["type"]
        if kind not in types:
            problems.append(f"no such event: {kind}")
            continue
        problems += strictly(types[kind], line, unknown)
    return problems + responses_accumulated([json.loads(line) for line in lines]), unknown


def judge_chat(lines: list[str]) -> tuple[list[str], set[str]]:
    problems: list[str] = []
    unknown: set[str] = set()
    chunks = []
    for line in lines:
        if line == "[DONE]" or "error" in json.loads(line):
            continue
        problems += strictly(ChatCompletionChunk, line, unknown)
        chunks.append(json.loads(line))
    return problems + chat_accumulated(chunks), unknown


@cache
def adapter(model: Any) -> TypeAdapter[Any]:
    return TypeAdapter(model)


def strictly(model: Any, line: str, unknown: set[str]) -> list[str]:
    """Validate one event and note the keys that its types do not know."""
    try:
        value = adapter(model).validate_json(line, strict=True)
    except ValidationError as error:
        return [f"{model.__name__}{e['loc']}: {e['msg']}" for e in error.errors()]
    unknown.update(extras(value))
    return []


def extras(value: Any) -> Iterator[str]:
    """Keys that were kept as extra, as `Model.key`."""
    if isinstance(value, BaseModel):
        for key in value.model_extra or {}:
            yield f"{type(value).__name__}.{key}"
        for name in type(value).model_fields:
            yield from extras(getattr(value, name))
    elif isinstance(value, list):
        for item in value:
            yield from extras(item)


def responses_accumulated(events: list[dict[str, Any]]) -> list[str]:
    """Compare what the package gathers from the deltas with the terminal object."""
    state: Any = ResponseStreamState(input_tools=omit, text_format=omit)
    for event in events:
        state.handle_event(construct_type(type_=ResponseStreamEvent, value=event))
    last = events[-1]
    if last["type"] not in TERMINAL:
        return [f"the stream ends with {last['type']}"]
    terminal = last["response"]
    snapshot = state._ResponseStreamState__current_snapshot
    problems = []
    for place, (gathered, final) in enumerate(
        zip(snapshot.output, terminal["output"], strict=True)
    ):
        if rendered(gathered.to_dict()) != rendered(final):
            problems.append(f"output[{place}]: {gathered} is not {final}")
    if last["type"] == "response.completed":
        completed = state._completed_response.to_dict()
        if without_parsed(completed) != terminal:
            problems.append("the accumulated response differs from response.completed")
    return problems


def rendered(item: dict[str, Any]) -> Any:
    """What the package gathers of an item: id, text and arguments; it takes refusals from the done event only."""
    texts = [part["text"] for part in item.get("content", ()) if part["type"] == "output_text"]
    return item["type"], item["id"], item.get("arguments"), texts


def without_parsed(value: Any) -> Any:
    """Leave out what the package's helper adds."""
    if isinstance(value, dict):
        return {
            key: without_parsed(item)
            for key, item in value.items()
            if key not in {"parsed", "parsed_arguments"}
        }
    return [without_parsed(item) for item in value] if isinstance(value, list) else value


def chat_accumulated(chunks: list[dict[str, Any]]) -> list[str]:
    """Compare the package's completion with the sum of the deltas."""
    state: Any = ChatCompletionStreamState()
    text = ""
    arguments: dict[int, str] = {}
    for chunk in chunks:
        state.handle_chunk(construct_type(type_=ChatCompletionChunk, value=chunk))
        for choice in chunk["choices"]:
            text += choice["delta"].get("content") or ""
            for call in choice["delta"].get("tool_calls", ()):
                found = arguments.get(call["index"], "")
                arguments[call["index"]] = found + call["function"]["arguments"]
    message = state.current_completion_snapshot.choices[0].message
    problems = []
    if (message.content or "") != text:
        problems.append(f"accumulated {message.content!r}, sent {text!r}")
    gathered = {i: c.function.arguments for i, c in enumerate(message.tool_calls or ())}
    if gathered != arguments:
        problems.append(f"accumulated calls {gathered}, sent {arguments}")
    return problems


def main(paths: list[str]) -> int:
    """Judge files; print the verdict."""
    verdict: dict[str, Any] = {"openai": openai.__version__, "problems": {}, "unknown": []}
    unknown: set[str] = set()
    for path in map(Path, paths):
        problems, found = judge(path.read_text())
        unknown |= found
        if problems:
            verdict["problems"][path.name] = problems
    verdict["unknown"] = sorted(unknown)
    print(json.dumps(verdict, indent=1))
    return 1 if verdict["problems"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
