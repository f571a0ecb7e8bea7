"""What a protocol has to offer: a decoded exchange and an encoder. Encoders have no I/O, no clock and no randomness."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol
from uuid import UUID

import orjson

from langgraph_openai_serve.errors import LgosError
from langgraph_openai_serve.graph.registry import GraphRegistry, RegisteredModel
from langgraph_openai_serve.graph.request import GraphRequest
from langgraph_openai_serve.run.events import RunEvent
from langgraph_openai_serve.run.interrupts import Operation
from langgraph_openai_serve.wire.errors import clean


def _new_id(prefix: str) -> str:
    return f"{prefix}{os.urandom(16).hex()}"


def _new_uuid() -> UUID:
    return UUID(bytes=os.urandom(16), version=4)


def _now() -> int:
    return time.time_ns() // 1_000_000_000


@dataclass(frozen=True, slots=True)
class Mint:
    """Where ids and timestamps come from; a test replaces it and gets byte-exact transcripts."""

    new_id: Callable[[str], str] = _new_id
    """Prefix, such as `msg_`, to a new id."""
    new_uuid: Callable[[], UUID] = _new_uuid
    """A new UUID that nobody can guess."""
    now: Callable[[], int] = _now
    """Unix seconds."""


@dataclass(frozen=True, slots=True)
class Caller:
    """What the transport knows about a request besides its body."""

    scope: str = "shared"
    request_id: str = ""
    mint: Mint = field(default_factory=Mint)
    background: bool = False
    """Whether an engine can run the request in the background."""
    run_id: UUID | None = None
    """The engine's run that the request is executed by."""


class Encoder(Protocol):
    """Turns the events of one streamed run into the bytes of one event stream."""

    def start(self) -> bytes:
        """Return what comes before any event."""
        ...

    def feed(self, event: RunEvent) -> bytes:
        """Return the frames of one event; `RunEnded` brings the terminal ones."""
        ...

    def fail(self, error: LgosError) -> bytes:
        """Close what is open and return the one terminal frame of a failed run; nothing after a terminal frame."""
        ...


class Exchange(Protocol):
    """One decoded request and the ways to answer it."""

    @property
    def model(self) -> RegisteredModel:
        """The registered graph."""
        ...

    @property
    def request(self) -> GraphRequest:
        """What the graph gets."""
        ...

    @property
    def operation(self) -> Operation | None:
        """The run that a model with interrupts works on."""
        ...

    @property
    def background(self) -> bool:
        """Whether an engine is to run the request."""
        ...

    @property
    def ignored(self) -> tuple[str, ...]:
        """Names of the request's fields that the model ignores."""
        ...

    @property
    def stream(self) -> bool:
        """Whether the caller wants an event stream."""
        ...

    def encoder(self) -> Encoder:
        """Return the encoder of a streamed answer."""
        ...

    def body(self, events: Sequence[RunEvent]) -> bytes:
        """Return the JSON of an answer that is not streamed."""
        ...


Decode = Callable[[bytes, GraphRegistry, Caller], Exchange]
"""Validates a body completely; raises `RequestError` for whatever can be refused without running."""


def dump_json(document: Any) -> orjson.Fragment:
    """Return a caller's own JSON as it can be put into any answer, integers of any size too."""
    try:
        return orjson.Fragment(orjson.dumps(document))
    except orjson.JSONEncodeError:
        return orjson.Fragment(json.dumps(document, ensure_ascii=False).encode())


def dump_text(text: str) -> bytes:
    """Return `text` as a JSON string, with what JSON cannot carry replaced."""
    if "\x00" in text:
        text = clean(text)
    try:
        return orjson.dumps(text)
    except orjson.JSONEncodeError:
        return orjson.dumps(clean(text))
