"""The refund example: people decide, also after everything in front of them was restarted."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import openai
import pytest

from support.programs import ROOT

CLIENT = ROOT / "examples/client_approve.py"
SUPPORT = "[support] How should the refund of 120 be handled? (approve/reject) "


def approve(
    folder: Path, base_url: str, typed: str, *words: str
) -> subprocess.CompletedProcess[str]:
    """Run the approval client with what somebody types."""
    return subprocess.run(
        [sys.executable, CLIENT, *words],
        input=typed,
        env={"OPENAI_BASE_URL": base_url, "APPROVALS_FILE": str(folder / "approvals.json")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def decide(client: openai.OpenAI, text: str, **choices: str) -> openai.types.responses.Response:
    paused = client.responses.create(model="refunds", input=text)
    answers: list[Any] = []
    for call in paused.output:
        assert call.type == "function_call"
        team = json.loads(call.arguments)["team"]
        answers.append(
            {
                "type": "function_call_output",
                "call_id": call.call_id,
                "output": choices.pop(team),
            }
        )
    assert not choices
    return client.responses.create(model="refunds", previous_response_id=paused.id, input=answers)


def test_small_refund_asks_nobody(client: openai.OpenAI) -> None:
    response = client.responses.create(model="refunds", input="Refund 20, please.")

    assert response.output_text == "Refunded 20."


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ("approve", "Refunded 120."),
        ("Approve ", "Refunded 120."),
        ('{"choice": "approve", "note": "called the customer"}', "Refunded 120."),
        ("reject", "No refund: support said no."),
        ("", "No refund: support said no."),
    ],
)
def test_one_team_decides(client: openai.OpenAI, answer: str, outcome: str) -> None:
    assert decide(client, "Refund 120.", support=answer).output_text == outcome


def test_two_teams_decide_at_once(client: openai.OpenAI) -> None:
    both = decide(client, "Refund 900.", support="approve", finance="approve")
    assert both.output_text == "Refunded 900."

    one = decide(client, "Refund 900.", support="approve", finance="reject")
    assert one.output_text == "No refund: finance said no."


def test_client_asks_and_answers(tmp_path: Path, base_url: str) -> None:
    ran = approve(tmp_path, base_url, "approve\n")

    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == f"{SUPPORT}Refunded 120.\n"
    assert not (tmp_path / "approvals.json").exists()


def test_client_that_is_started_again_asks_the_same_questions(
    tmp_path: Path, base_url: str
) -> None:
    left = approve(tmp_path, base_url, "")
    assert left.returncode == 1
    assert "run this again" in left.stderr

    ran = approve(tmp_path, base_url, "reject\n", "This", "text", "is", "not", "sent.")

    assert ran.stdout == f"{SUPPORT}No refund: support said no.\n"


def test_client_whose_refund_was_decided_elsewhere_says_so(
    tmp_path: Path, base_url: str, client: openai.OpenAI
) -> None:
    approve(tmp_path, base_url, "")
    stored = json.loads((tmp_path / "approvals.json").read_text())
    [call] = stored["calls"]
    answer: Any = {
        "type": "function_call_output",
        "call_id": call["call_id"],
        "output": "approve",
    }
    client.responses.create(
        model="refunds", previous_response_id=stored["response_id"], input=[answer]
    )

    ran = approve(tmp_path, base_url, "reject\n")

    assert "decided in the meantime" in ran.stderr
    assert not (tmp_path / "approvals.json").exists()
