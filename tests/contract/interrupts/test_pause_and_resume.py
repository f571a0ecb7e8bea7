"""Pausing and going on, through the SDK, whole and streamed."""

from __future__ import annotations

import json
import re
from uuid import UUID, uuid4

import pytest

from support.interrupt_graphs import FALSY_PAYLOADS
from support.pausing import Stage, answers, calls

RESPONSE_ID = re.compile(r"resp_lg_[0-9a-f]{32}_[0-9a-f]{32}")
CALL_ID = re.compile(r"call_lg_[0-9a-f]{64}_[0-9a-f]{32}_[0-9A-Za-z-]+")


async def test_interrupt_is_a_function_call_with_its_payload(stage: Stage) -> None:
    paused = await stage.ask("ask_once")

    assert paused.status == "completed"
    assert RESPONSE_ID.fullmatch(paused.id)
    [item] = paused.output
    assert item.type == "function_call"
    assert item.name == "lgos_interrupt"
    assert item.status == "completed"
    assert json.loads(item.arguments) == {"question": "Go?"}
    assert CALL_ID.fullmatch(item.call_id)
    assert len(await stage.threads()) == 1


async def test_answer_goes_on_where_the_graph_paused(stage: Stage) -> None:
    paused = await stage.ask("ask_once")

    finished = await stage.resume(paused, "yes")

    assert finished.output_text == "got:'yes'"
    assert finished.status == "completed"
    assert finished.previous_response_id == paused.id
    assert finished.id != paused.id
    assert stage.probe.runs["first"] == 1
    # An interrupted node starts again from its beginning.
    assert stage.probe.runs["ask"] == 2
    assert await stage.threads() == set()


async def test_store_may_be_false_or_left_out(stage: Stage) -> None:
    paused = await stage.ask("ask_once", store=False)

    assert (await stage.resume(paused, "yes", store=False)).output_text == "got:'yes'"


@pytest.mark.parametrize("text", ["", "null", "false", "0", '{"approve": true}', "ünïcode 🌍"])
async def test_answer_reaches_the_graph_unchanged(stage: Stage, text: str) -> None:
    paused = await stage.ask("ask_once")

    assert (await stage.resume(paused, text)).output_text == f"got:{text!r}"
    assert await stage.threads() == set()


@pytest.mark.parametrize("index", range(len(FALSY_PAYLOADS)))
async def test_any_json_value_is_a_payload(stage: Stage, index: int) -> None:
    paused = await stage.ask(f"ask_falsy_{index}")

    assert json.loads(calls(paused)[0].arguments) == FALSY_PAYLOADS[index]
    assert (await stage.resume(paused, "x")).output_text == "got:'x'"


async def test_parallel_interrupts_are_one_batch(stage: Stage) -> None:
    paused = await stage.ask("ask_two")
    names = [json.loads(call.arguments)["name"] for call in calls(paused)]
    assert sorted(names) == ["a", "b"]
    given = dict(zip(names, answers(paused, *[name.upper() for name in names]), strict=True))

    finished = await stage.ask("ask_two", [given["b"], given["a"]], previous_response_id=paused.id)

    assert finished.output_text == "a=A b=B"
    assert await stage.threads() == set()


async def test_interrupts_of_one_node_are_asked_in_turn(stage: Stage) -> None:
    first = await stage.ask("ask_in_turn")
    second = await stage.resume(first, "one")
    assert json.loads(calls(second)[0].arguments) == {"step": 2}
    assert calls(second)[0].call_id != calls(first)[0].call_id

    finished = await stage.resume(second, "two")

    assert finished.output_text == "'one' 'two'"
    assert stage.probe.runs["in_turn"] == 3
    assert await stage.threads() == set()


async def test_pause_inside_a_subgraph_does_not_repeat_what_was_done(stage: Stage) -> None:
    paused = await stage.ask("ask_in_subgraph")

    finished = await stage.resume(paused, "yes")

    assert finished.output_text == "A started 1 time, inner:yes"


async def test_text_before_the_pause_and_usage_of_each_turn(stage: Stage) -> None:
    paused = await stage.ask("ask_after_text")

    assert paused.output_text == ("Let me ask." if stage.streamed else "")
    assert paused.usage is not None
    assert paused.usage.total_tokens == 5
    assert [item.type for item in paused.output][-1] == "function_call"
    finished = await stage.resume(paused, "yes")
    assert finished.output_text == "Done: yes"
    assert finished.usage is not None
    assert finished.usage.total_tokens == 9


async def test_settings_are_those_of_each_request(stage: Stage) -> None:
    loud = {"lgos_settings": json.dumps({"mood": "loud"})}

    paused = await stage.ask("ask_mood", metadata=loud)
    assert (await stage.resume(paused, "x")).output_text == "loud plain"

    paused = await stage.ask("ask_mood", metadata=loud)
    assert (await stage.resume(paused, "x", metadata=loud)).output_text == "loud loud"


async def test_caller_may_choose_the_run(stage: Stage) -> None:
    chosen = uuid4()

    paused = await stage.ask("ask_once", metadata={"lgos_run_id": str(chosen)})

    assert paused.id.startswith(f"resp_lg_{chosen.hex}_")
    again = {"lgos_run_id": str(chosen).upper()}
    assert (await stage.resume(paused, "yes", metadata=again)).output_text == "got:'yes'"


async def test_server_chooses_a_new_run_each_time(stage: Stage) -> None:
    ids = [(await stage.ask("ask_once")).id for _ in range(2)]

    runs = {UUID(one.split("_")[2]) for one in ids}
    assert len(runs) == 2
    assert all(run.version == 4 for run in runs)
    assert len(await stage.threads()) == 2


async def test_asking_again_shows_what_is_pending_without_running(stage: Stage) -> None:
    metadata = {"lgos_run_id": str(uuid4())}
    first = await stage.ask("ask_once", metadata=metadata)

    again = await stage.ask("ask_once", "something else", metadata=metadata)

    assert again.id != first.id
    assert calls(again)[0].call_id != calls(first)[0].call_id
    assert calls(again)[0].arguments == calls(first)[0].arguments
    assert stage.probe.runs == {"first": 1, "ask": 1}


@pytest.mark.parametrize("index", [0, 1])
async def test_either_exchange_of_a_retried_request_can_be_answered(
    stage: Stage, index: int
) -> None:
    metadata = {"lgos_run_id": str(uuid4())}
    shown = [await stage.ask("ask_two", metadata=metadata) for _ in range(2)]

    assert (await stage.resume(shown[index], "1", "2")).status == "completed"
    assert await stage.threads() == set()


async def test_finished_run_leaves_its_id_free(stage: Stage) -> None:
    metadata = {"lgos_run_id": str(uuid4())}
    for _ in range(2):
        paused = await stage.ask("ask_once", metadata=metadata)
        assert (await stage.resume(paused, "yes")).output_text == "got:'yes'"

    assert stage.probe.runs["first"] == 2


async def test_run_without_a_question_leaves_nothing(stage: Stage) -> None:
    stage.probe.gate.set()

    response = await stage.ask("never_asks")

    assert response.output_text == "done"
    assert RESPONSE_ID.fullmatch(response.id)
    assert await stage.threads() == set()


async def test_tools_that_ask_in_their_own_tasks_get_their_own_answers(stage: Stage) -> None:
    paused = await stage.ask("ask_sent_tools")
    named = {json.loads(call.arguments)["name"]: call.call_id for call in calls(paused)}
    given = [
        {"type": "function_call_output", "call_id": named[name], "output": name.upper()}
        for name in ("blue", "red")
    ]

    finished = await stage.ask("ask_sent_tools", given, previous_response_id=paused.id)

    assert finished.output_text == "red=RED blue=BLUE"


async def test_tool_may_ask_beside_one_that_does_not(stage: Stage) -> None:
    paused = await stage.ask("ask_beside_tool")

    assert (await stage.resume(paused, "R")).output_text == "red=R blue=found"


async def test_earlier_exchange_is_history(stage: Stage) -> None:
    paused = await stage.ask("ask_once")
    finished = await stage.resume(paused, "yes")
    ledger = [
        {"role": "user", "content": "go"},
        *[item.model_dump() for item in paused.output],
        *answers(paused, "yes"),
        *[item.model_dump() for item in finished.output],
        {"role": "user", "content": "once more"},
    ]

    again = await stage.ask("ask_once", ledger)

    assert len(calls(again)) == 1


async def test_models_say_that_they_pause(stage: Stage) -> None:
    model = await stage.client.models.retrieve("ask_once")

    assert model.model_extra is not None
    assert model.model_extra["lgos"]["features"] == ["interrupts"]
