"""What cannot be answered is refused before a stream begins, and the pause stays answerable."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import openai
import pytest
from openai.types.responses import Response

from support.pausing import SCOPE_HEADER, Stage, answers, calls

MIXED = {"role": "user", "content": "and something else"}
UNKNOWN_CALL = "call_lg_" + "0" * 64 + "_" + "0" * 32 + "_" + "0" * 32


async def refused(stage: Stage, status: int, model: str, content: Any, **fields: Any) -> Any:
    """Ask for something that is refused, and return the error object."""
    with pytest.raises(openai.APIStatusError) as refusal:
        await stage.ask(model, content, **fields)
    assert refusal.value.status_code == status
    assert refusal.value.response.headers["content-type"] == "application/json"
    error: Any = refusal.value.body
    return error


async def still_answerable(stage: Stage, paused: Response) -> None:
    texts = ["A", "B"][: len(calls(paused))]
    assert (await stage.resume(paused, *texts)).status == "completed"


@pytest.mark.parametrize(
    ("change", "param"),
    [
        (lambda items: items[:1], "input"),
        (lambda items: [*items, items[0]], "input[2].call_id"),
        (lambda items: [items[0], {**items[1], "call_id": "call_1"}], "input[1].call_id"),
        (lambda items: [items[0], {**items[1], "call_id": UNKNOWN_CALL}], "previous_response_id"),
        (lambda items: [*items, MIXED], "input[2]"),
        (lambda items: [{**items[0], "output": 1}, items[1]], "input[0].output"),
        (lambda _items: "yes", "input"),
        (lambda _items: [], "input"),
    ],
    ids=["partial", "twice", "malformed", "foreign", "mixed", "number", "text", "empty"],
)
async def test_malformed_answers_run_nothing(stage: Stage, change: Any, param: str) -> None:
    paused = await stage.ask("ask_two")
    before = dict(stage.probe.runs)

    error = await refused(
        stage, 400, "ask_two", change(answers(paused, "A", "B")), previous_response_id=paused.id
    )

    assert error["param"] == param
    assert error["type"] == "invalid_request_error"
    assert stage.probe.runs == before
    await still_answerable(stage, paused)


async def test_call_of_another_response_is_refused(stage: Stage) -> None:
    metadata = {"lgos_run_id": str(uuid4())}
    first = await stage.ask("ask_once", metadata=metadata)
    second = await stage.ask("ask_once", metadata=metadata)

    error = await refused(
        stage, 400, "ask_once", answers(first, "x"), previous_response_id=second.id
    )

    assert error["param"] == "previous_response_id"
    await still_answerable(stage, second)


@pytest.mark.parametrize(
    "name",
    ["resp_1", "resp_lg_x_y", "resp_lg_" + "0" * 32 + "_" + "1" * 32, "", "resp_lg_" + "1" * 65],
)
async def test_malformed_response_id_is_refused(stage: Stage, name: str) -> None:
    paused = await stage.ask("ask_once")

    error = await refused(stage, 400, "ask_once", answers(paused, "x"), previous_response_id=name)

    assert error["param"] == "previous_response_id"
    await still_answerable(stage, paused)


async def test_answers_without_their_response_are_refused(stage: Stage) -> None:
    paused = await stage.ask("ask_once")
    ledger = [
        {"role": "user", "content": "go"},
        *[item.model_dump() for item in paused.output],
        *answers(paused, "x"),
    ]

    error = await refused(stage, 400, "ask_once", ledger)

    assert error["param"] == "previous_response_id"
    await still_answerable(stage, paused)


async def test_run_id_must_be_the_one_of_the_response(stage: Stage) -> None:
    paused = await stage.ask("ask_once")

    for value in (str(uuid4()), "no-uuid", str(uuid4()).replace("-", "")[:31]):
        error = await refused(
            stage,
            400,
            "ask_once",
            answers(paused, "x"),
            previous_response_id=paused.id,
            metadata={"lgos_run_id": value},
        )
        assert error["param"] == "metadata.lgos_run_id"
    await still_answerable(stage, paused)


@pytest.mark.parametrize("value", ["", "x", "00000000-0000-0000-0000-000000000000"])
async def test_chosen_run_must_be_a_uuid_that_is_not_nil(stage: Stage, value: str) -> None:
    error = await refused(stage, 400, "ask_once", "go", metadata={"lgos_run_id": value})

    assert error["param"] == "metadata.lgos_run_id"
    assert stage.probe.runs == {}


async def test_wrong_settings_leave_the_pause_alone(stage: Stage) -> None:
    paused = await stage.ask("ask_mood")

    error = await refused(
        stage,
        400,
        "ask_mood",
        answers(paused, "x"),
        previous_response_id=paused.id,
        metadata={"lgos_settings": '{"mood": 1}'},
    )

    assert error["param"] == "metadata.lgos_settings"
    await still_answerable(stage, paused)


async def test_stored_responses_are_refused(stage: Stage) -> None:
    assert (await refused(stage, 400, "ask_once", "go", store=True))["param"] == "store"


async def test_nul_in_the_input_is_refused(stage: Stage) -> None:
    error = await refused(stage, 400, "ask_once", "a\x00b")

    assert error["param"].startswith("input")
    assert await stage.threads() == set()


async def test_model_without_interrupts_takes_no_previous_response(stage: Stage) -> None:
    paused = await stage.ask("ask_once")

    error = await refused(
        stage, 400, "undeclared_bare", answers(paused, "x"), previous_response_id=paused.id
    )

    assert error["param"] == "previous_response_id"


async def test_chat_completions_refuses_a_model_that_pauses(stage: Stage) -> None:
    with pytest.raises(openai.BadRequestError) as refusal:
        await stage.client.chat.completions.create(
            model="ask_once",
            messages=[{"role": "user", "content": "go"}],
            stream=stage.streamed,
        )

    error: Any = refusal.value.body
    assert error["param"] == "model"
    assert "Responses" in error["message"]
    assert stage.probe.runs == {}


async def conflict(stage: Stage, model: str, content: Any, **fields: Any) -> None:
    before = dict(stage.probe.runs)
    error = await refused(stage, 409, model, content, **fields)
    assert error["code"] == "interrupt_state_conflict"
    assert stage.probe.runs == before


async def test_answered_exchange_is_a_conflict(stage: Stage) -> None:
    paused = await stage.ask("ask_once")
    await stage.resume(paused, "yes")

    for _ in range(2):
        await conflict(stage, "ask_once", answers(paused, "no"), previous_response_id=paused.id)
    assert stage.probe.runs["answered"] == 1


async def test_stale_exchange_is_a_conflict(stage: Stage) -> None:
    first = await stage.ask("ask_in_turn")
    second = await stage.resume(first, "one")

    await conflict(stage, "ask_in_turn", answers(first, "again"), previous_response_id=first.id)

    await still_answerable(stage, second)


async def test_altered_exchange_is_a_conflict(stage: Stage) -> None:
    paused = await stage.ask("ask_two")
    made_up, other_state = answers(paused, "A", "B"), answers(paused, "A", "B")
    made_up[0]["call_id"] = made_up[0]["call_id"].rpartition("_")[0] + "_" + "f" * 32
    state = calls(paused)[0].call_id.split("_")[2]
    for item in other_state:
        item["call_id"] = item["call_id"].replace(state, "0" * 64)
    mixed_states = [other_state[0], answers(paused, "A", "B")[1]]

    for items in (made_up, other_state, mixed_states):
        await conflict(stage, "ask_two", items, previous_response_id=paused.id)

    await still_answerable(stage, paused)


async def test_sample_of_a_resume_is_a_conflict_where_nothing_is_pending(stage: Stage) -> None:
    sample = {
        "type": "function_call_output",
        "call_id": "call_lg_47ecb7c6f7b901230fc4d3119976daae11888d39c973953060b8a849c3d8a5f2_"
        "0123456789abcdef0123456789abcdef_6f719db6-1be2-4b8e-875c-c775f0f6c86a",
        "output": "Verify the delivery address first.",
    }

    await conflict(
        stage,
        "ask_once",
        [sample],
        previous_response_id="resp_lg_f654e9041bd84fd6a8bf53a49ca25699_"
        "0123456789abcdef0123456789abcdef",
        store=False,
    )


async def test_another_model_cannot_answer(stage: Stage) -> None:
    paused = await stage.ask("ask_once")

    await conflict(stage, "ask_mood", answers(paused, "x"), previous_response_id=paused.id)

    await still_answerable(stage, paused)


async def test_another_scope_cannot_answer(stage: Stage) -> None:
    paused = await stage.ask("ask_once", extra_headers={SCOPE_HEADER: "alice"})

    await conflict(
        stage,
        "ask_once",
        answers(paused, "x"),
        previous_response_id=paused.id,
        extra_headers={SCOPE_HEADER: "bob"},
    )

    finished = await stage.resume(paused, "yes", extra_headers={SCOPE_HEADER: "alice"})
    assert finished.output_text == "got:'yes'"


async def test_scopes_and_models_share_no_run(stage: Stage) -> None:
    metadata = {"lgos_run_id": str(uuid4())}
    mine = await stage.ask("ask_once", metadata=metadata, extra_headers={SCOPE_HEADER: "alice"})
    yours = await stage.ask("ask_once", metadata=metadata, extra_headers={SCOPE_HEADER: "bob"})
    other = await stage.ask("ask_two", metadata=metadata, extra_headers={SCOPE_HEADER: "bob"})

    assert len(await stage.threads()) == 3
    assert stage.probe.runs["first"] == 2
    for paused, scope in ((mine, "alice"), (yours, "bob")):
        done = await stage.resume(paused, scope, extra_headers={SCOPE_HEADER: scope})
        assert done.output_text == f"got:{scope!r}"
    assert len(calls(other)) == 2


async def test_user_and_metadata_do_not_make_a_scope(stage: Stage) -> None:
    metadata = {"lgos_run_id": str(uuid4()), "tenant": "alice"}
    first = await stage.ask("ask_once", metadata=metadata, user="alice")

    again = await stage.ask("ask_once", metadata={**metadata, "tenant": "bob"}, user="bob")

    assert stage.probe.runs["first"] == 1
    assert again.id.split("_")[2] == first.id.split("_")[2]
