"""Background Responses through the SDK, with the engine in the application's own process."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from uuid import uuid4

import pytest
from openai.types.responses import Response

from langgraph_openai_serve.ports.observer import Mode, RunStatus
from support import backgrounds
from support.backgrounds import MISSING, refused
from support.graphs import SECRET
from support.observing import becomes, within
from support.pausing import SCOPE_HEADER, answers, calls

ALICE, BOB = {SCOPE_HEADER: "alice"}, {SCOPE_HEADER: "bob"}


async def create(
    engine: Any, model: str = "bg_quick", content: Any = "hi", **fields: Any
) -> Response:
    return await backgrounds.create(engine.client, model, content, **fields)


async def finished(engine: Any, response_id: str, **fields: Any) -> Response:
    return await backgrounds.finished(engine.client, response_id, **fields)


async def test_response_is_created_polled_and_completed(engine: Any) -> None:
    accepted = await create(engine, store=True)

    assert accepted.status in {"queued", "in_progress"}
    assert accepted.background is True
    assert accepted.output == []
    response = await finished(engine, accepted.id)
    assert response.status == "completed"
    assert response.output_text == "ok"
    assert response.id == accepted.id
    assert response.created_at == accepted.created_at
    assert response.background is True
    assert engine.probe.runs["bg_quick"] == 1


async def test_response_stays_the_same_once_it_has_ended(engine: Any) -> None:
    accepted = await create(engine)
    response = await finished(engine, accepted.id)

    for _ in range(5):
        assert await engine.client.responses.retrieve(accepted.id) == response
    assert await engine.client.responses.cancel(accepted.id) == response


async def test_response_can_be_retrieved_at_once(engine: Any) -> None:
    for _ in range(50):
        accepted = await create(engine, "bg_slow")
        response = await engine.client.responses.retrieve(accepted.id)
        assert response.status in {"queued", "in_progress"}
        assert response.output == []
    engine.probe.gate.set()


async def test_run_that_raises_is_failed_without_its_reason(engine: Any) -> None:
    response = await finished(engine, (await create(engine, "bg_fails")).id)

    assert response.status == "failed"
    assert response.error is not None
    assert response.error.code == "server_error"
    assert SECRET not in response.error.message


async def test_run_that_is_cut_is_incomplete(engine: Any) -> None:
    response = await finished(engine, (await create(engine, "bg_cut")).id)

    assert response.status == "incomplete"
    assert response.incomplete_details is not None
    assert response.incomplete_details.reason == "max_output_tokens"
    assert response.usage is not None
    assert response.usage.total_tokens == 7


async def test_running_response_is_cancelled(engine: Any) -> None:
    accepted = await create(engine, "bg_slow")
    await engine.probe.running.wait()

    cancelled = await engine.client.responses.cancel(accepted.id)

    assert cancelled.status == "cancelled"
    assert cancelled.id == accepted.id
    assert await within(engine.probe.left) == "bg_slow"
    assert (await engine.client.responses.retrieve(accepted.id)).status == "cancelled"


async def test_queued_response_is_cancelled_and_never_starts(engine: Any) -> None:
    running = [await create(engine, "bg_slow") for _ in range(8)]
    await becomes(_ran(engine, "bg_slow", 8))
    queued = await create(engine)
    assert (await engine.client.responses.retrieve(queued.id)).status == "queued"

    assert (await engine.client.responses.cancel(queued.id)).status == "cancelled"

    engine.probe.gate.set()
    for response in running:
        assert (await finished(engine, response.id)).output_text == "slow ok"
    assert engine.probe.runs["bg_quick"] == 0


async def test_cancel_that_races_with_the_end_is_settled(engine: Any) -> None:
    for index in range(20):
        accepted = await create(engine)
        await asyncio.sleep(0.19 + index / 1000)
        said = (await engine.client.responses.cancel(accepted.id)).status
        settled = await finished(engine, accepted.id)
        assert settled.status == said
        assert (settled.output_text == "ok") == (said == "completed")


def _ran(engine: Any, name: str, times: int) -> Any:
    async def ran() -> bool:
        return bool(engine.probe.runs[name] >= times)

    return ran


@pytest.mark.parametrize("response_id", [MISSING, "resp_1", "x" * 300, MISSING + "0"])
async def test_unknown_and_malformed_ids_are_not_found(engine: Any, response_id: str) -> None:
    for request in (
        engine.client.responses.retrieve(response_id),
        engine.client.responses.cancel(response_id),
    ):
        error = await refused(404, request)
        assert error["param"] == "response_id"


async def test_only_the_owner_may_retrieve_and_cancel(engine: Any) -> None:
    accepted = await create(engine, "bg_slow", extra_headers=ALICE)
    unknown = await refused(404, engine.client.responses.retrieve(MISSING, extra_headers=BOB))

    error = await refused(404, engine.client.responses.retrieve(accepted.id, extra_headers=BOB))
    assert error == {**unknown, "message": unknown["message"].replace(MISSING, accepted.id)}
    await refused(404, engine.client.responses.cancel(accepted.id, extra_headers=BOB))

    engine.probe.gate.set()
    response = await finished(engine, accepted.id, extra_headers=ALICE)
    assert response.output_text == "slow ok"


async def test_half_of_an_id_is_not_enough(engine: Any) -> None:
    accepted = await create(engine)
    prefix, operation, run = accepted.id.rsplit("_", 2)

    await refused(404, engine.client.responses.retrieve(f"{prefix}_{'3' * 32}_{run}"))
    assert operation == run


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"model": "front"}, "background"),
        ({"stream": True}, "stream"),
        ({"store": False}, "store"),
        ({"metadata": {"lgos_x": "1"}}, "metadata.lgos_x"),
        ({"temperature": 1}, "temperature"),
    ],
)
async def test_what_no_engine_does_is_refused_before_anything_starts(
    engine: Any, fields: dict[str, Any], param: str
) -> None:
    request = {"model": "bg_quick", "input": "hi", "background": True, **fields}

    error = await refused(400, engine.client.responses.create(**request))

    assert error["param"] == param
    assert engine.probe.runs.total() == 0


async def test_store_is_for_background_only(engine: Any) -> None:
    request = engine.client.responses.create(model="bg_quick", input="hi", store=True)

    assert (await refused(400, request))["param"] == "store"


@pytest.mark.parametrize("query", [{"stream": "true"}, {"starting_after": "3"}])
async def test_retrieval_has_no_cursor(engine: Any, query: dict[str, str]) -> None:
    accepted = await create(engine)

    error = await refused(400, engine.client.responses.retrieve(accepted.id, extra_query=query))

    assert error["param"] == next(iter(query))


async def test_same_key_starts_one_run(engine: Any) -> None:
    headers = {"Idempotency-Key": str(uuid4())}
    accepted = await asyncio.gather(
        *[create(engine, "bg_slow", extra_headers=headers) for _ in range(20)]
    )

    assert len({response.id for response in accepted}) == 1
    engine.probe.gate.set()
    assert (await finished(engine, accepted[0].id)).output_text == "slow ok"
    assert engine.probe.runs["bg_slow"] == 1
    again = await create(engine, "bg_slow", extra_headers=headers)
    assert again.status == "completed"
    assert again.output_text == "slow ok"


async def test_keys_belong_to_their_owner(engine: Any) -> None:
    key = {"Idempotency-Key": "k"}
    mine = await create(engine, extra_headers={**key, **ALICE})
    yours = await create(engine, extra_headers={**key, **BOB})

    assert mine.id != yours.id


async def test_requests_without_a_key_are_different_runs(engine: Any) -> None:
    ids = {(await create(engine)).id for _ in range(3)}

    assert len(ids) == 3


async def test_key_of_another_request_is_a_conflict(engine: Any) -> None:
    key = {"Idempotency-Key": "k"}
    await create(engine, extra_headers=key)

    error = await refused(422, create(engine, content="other", extra_headers=key))

    assert error["param"] == "Idempotency-Key"
    assert error["code"] == "idempotency_key_reused"


@pytest.mark.parametrize(
    ("key", "taken"),
    [
        ("", False),
        ("a", True),
        ("k" * 255, True),
        ("k" * 256, False),
        ("k" * 10240, False),
        ("with space", True),
        ("schlüssel".encode(), False),
    ],
    ids=["empty", "short", "longest", "longer", "huge", "space", "umlaut"],
)
async def test_keys_are_printable_and_of_moderate_length(
    engine: Any, key: Any, taken: bool
) -> None:
    sent = key if isinstance(key, bytes) else key.encode()
    answer = await engine.http.post(
        "/responses",
        headers=[(b"Idempotency-Key", sent)],
        json={"model": "bg_quick", "input": "hi", "background": True},
    )

    if taken:
        assert answer.json()["background"] is True
    else:
        assert answer.status_code == 400
        assert answer.json()["error"]["param"] == "Idempotency-Key"


async def test_only_a_digest_of_the_key_reaches_the_engine(engine: Any) -> None:
    accepted = await create(engine, extra_headers={"Idempotency-Key": "secret-key", **ALICE})

    run = await engine.backend.get(str(_uuid(accepted.id)))
    assert len(run.job.idempotency_key) == 64
    assert "secret-key" not in repr(run)


def _uuid(response_id: str) -> str:
    text = response_id.rpartition("_")[2]
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


async def test_pause_in_the_background_is_answered_in_either_mode(engine: Any) -> None:
    for background in (True, False):
        paused = await finished(engine, (await create(engine, "bg_ask")).id)
        assert paused.status == "completed"
        assert json.loads(calls(paused)[0].arguments) == {"question": "Go?"}
        request = {"model": "bg_ask", "previous_response_id": paused.id}

        answered = await engine.client.responses.create(
            **request, input=answers(paused, "yes"), background=background
        )

        if background:
            answered = await finished(engine, answered.id)
        assert answered.output_text == "got:'yes'"
        assert answered.previous_response_id == paused.id


async def test_foreground_pause_is_answered_in_the_background(engine: Any) -> None:
    paused = await engine.client.responses.create(model="bg_ask", input="hi")

    accepted = await create(engine, "bg_ask", answers(paused, ""), previous_response_id=paused.id)

    assert (await finished(engine, accepted.id)).output_text == "got:''"


async def test_of_two_background_answers_one_wins_and_the_other_says_why(engine: Any) -> None:
    paused = await finished(engine, (await create(engine, "bg_ask")).id)
    accepted = [
        await create(engine, "bg_ask", answers(paused, text), previous_response_id=paused.id)
        for text in ("one", "two")
    ]

    ended = [await finished(engine, response.id) for response in accepted]

    assert sorted(str(response.status) for response in ended) == ["completed", "failed"]
    [lost] = [response for response in ended if response.status == "failed"]
    assert lost.error is not None
    assert "do not match what the run is waiting for" in lost.error.message
    assert engine.probe.runs["bg_answered"] == 1


async def test_malformed_background_answers_are_refused_at_once(engine: Any) -> None:
    paused = await finished(engine, (await create(engine, "bg_ask")).id)

    error = await refused(400, create(engine, "bg_ask", "yes", previous_response_id=paused.id))

    assert error["param"] == "input"


async def test_chosen_run_is_shown_again(engine: Any) -> None:
    metadata = {"lgos_run_id": str(uuid4())}
    first = await finished(engine, (await create(engine, "bg_ask", metadata=metadata)).id)
    again = await finished(engine, (await create(engine, "bg_ask", metadata=metadata)).id)

    assert again.id != first.id
    assert again.id.split("_")[2] == first.id.split("_")[2]
    assert engine.probe.runs["bg_ask"] == 1


async def test_background_runs_are_observed_as_such(engine: Any) -> None:
    await finished(engine, (await create(engine)).id)

    assert [(run.mode, status) for run, status, _ in engine.ledger.ended] == [
        (Mode.BACKGROUND, RunStatus.COMPLETED)
    ]


async def test_ending_application_cancels_what_runs(engine: Any) -> None:
    accepted = await create(engine, "bg_slow")
    await engine.probe.running.wait()

    await engine.backend.close()

    assert (await engine.client.responses.retrieve(accepted.id)).status == "cancelled"
    await refused(503, create(engine))


async def test_models_say_that_they_run_in_the_background(engine: Any) -> None:
    model = await engine.client.models.retrieve("bg_ask")

    assert model.model_extra["lgos"]["features"] == ["background", "interrupts"]
