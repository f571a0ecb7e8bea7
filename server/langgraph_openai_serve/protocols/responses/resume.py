"""Ids of runs that can pause, and the answers of a request that goes on with one.

A Response id names the run and carries a nonce of its own; a call id carries the pause's state, the nonce of the Response
that showed it, and the interrupt. Nobody has to keep them: what they say is compared with the checkpoint.
"""

from __future__ import annotations

import re
from typing import Final
from uuid import UUID

from langgraph_openai_serve.errors import RequestError
from langgraph_openai_serve.graph.config import GraphFeature
from langgraph_openai_serve.graph.registry import RegisteredModel
from langgraph_openai_serve.protocols.codec import Caller
from langgraph_openai_serve.protocols.metadata import RUN_ID_KEY
from langgraph_openai_serve.run.interrupts import Answer, Operation
from langgraph_openai_serve.wire import responses as wire

INTERRUPT_TOOL: Final = "lgos_interrupt"
PARAM: Final = "previous_response_id"
_RESPONSE: Final = re.compile(r"resp_lg_([0-9a-f]{32})_([0-9a-f]{32})")
_CALL: Final = re.compile(r"call_lg_([0-9a-f]{64})_([0-9a-f]{32})_([0-9A-Za-z-]{1,64})")


def response_id(run_id: UUID, nonce: UUID) -> str:
    """Return the id of a Response of a run."""
    return f"resp_lg_{run_id.hex}_{nonce.hex}"


def parts_of(text: str) -> tuple[UUID, UUID] | None:
    """Return the run and the nonce of a Response's id, or `None` when it is no such id."""
    match = _RESPONSE.fullmatch(text)
    return None if match is None else (UUID(match[1]), UUID(match[2]))


def call_id(shown_by: str, state: str, interrupt_id: str) -> str:
    """Return the id of an interrupt's call.

    Args:
        shown_by: Id of the Response that has the call.
        state: The pause it belongs to.
        interrupt_id: The interrupt.
    """
    return f"call_lg_{state}_{shown_by.rpartition('_')[2]}_{interrupt_id}"


def operation_of(
    body: wire.ResponseCreate, model: RegisteredModel, caller: Caller
) -> Operation | None:
    """Return which run a request begins or goes on with; `None` for a model without interrupts.

    Raises:
        RequestError: The request tries to go on with a run, but not in the form that this takes.
    """
    if GraphFeature.INTERRUPTS not in model.features:
        if body.previous_response_id is not None:
            msg = "previous_response_id is not supported by this model; send the earlier items as input."
            raise RequestError(msg, param=PARAM)
        return None
    chosen = (body.metadata or {}).get(RUN_ID_KEY)
    if body.previous_response_id is None:
        _refuse_answers_without_response(body)
        if chosen is not None:
            return Operation(UUID(chosen))
        return Operation(caller.run_id or caller.mint.new_uuid())
    parts = parts_of(body.previous_response_id)
    if parts is None or not parts[0].int:
        msg = "previous_response_id is not the id of a paused Response of this server."
        raise RequestError(msg, param=PARAM)
    run_id, nonce = parts
    if chosen is not None and UUID(chosen) != run_id:
        msg = f"{RUN_ID_KEY} does not name the run of previous_response_id; leave it out."
        raise RequestError(msg, param=f"metadata.{RUN_ID_KEY}")
    return Operation(run_id, _answers(body, nonce.hex))


def _answers(body: wire.ResponseCreate, nonce: str) -> tuple[Answer, ...]:
    if isinstance(body.input, str):
        msg = "With previous_response_id, input must be a list of function_call_output items."
        raise RequestError(msg, param="input")
    answers: dict[str, Answer] = {}
    for index, item in enumerate(body.input):
        if not isinstance(item, wire.FunctionCallOutput):
            msg = "With previous_response_id, input may hold function_call_output items only."
            raise RequestError(msg, param=f"input[{index}]")
        match = _CALL.fullmatch(item.call_id)
        if match is None:
            msg = "This call_id is not the one of an interrupt."
            raise RequestError(msg, param=f"input[{index}].call_id")
        state, shown_by, interrupt_id = match.groups()
        if shown_by != nonce:
            msg = "A call belongs to another Response than previous_response_id."
            raise RequestError(msg, param=PARAM)
        if interrupt_id in answers:
            msg = "The interrupt is answered twice."
            raise RequestError(msg, param=f"input[{index}].call_id")
        answers[interrupt_id] = Answer(interrupt_id, state, item.output)
    return tuple(answers.values())


def _refuse_answers_without_response(body: wire.ResponseCreate) -> None:
    """Refuse an input that ends with an answer: without the Response's id it would start the run anew."""
    last = None if isinstance(body.input, str) else body.input[-1]
    if isinstance(last, wire.FunctionCallOutput) and _CALL.fullmatch(last.call_id):
        msg = f"Answers to {INTERRUPT_TOOL} are sent with previous_response_id, and without other items."
        raise RequestError(msg, param=PARAM)
