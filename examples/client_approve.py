"""Approves refunds in the terminal: stores a paused Response before it asks, and goes on with it after a restart."""

import json
import os
import sys
from pathlib import Path
from uuid import uuid4

from openai import ConflictError, OpenAI

STORE = Path(os.environ.get("APPROVALS_FILE", "approvals.json"))

client = OpenAI(
    base_url=os.environ.get("OPENAI_BASE_URL", "http://127.0.0.1:8000/v1"),
    api_key=os.environ.get("OPENAI_API_KEY", "unused"),
)


def paused() -> dict | None:
    return json.loads(STORE.read_text()) if STORE.exists() else None


def store(response) -> bool:
    """Keep what an answer needs, exactly as it came; false when nothing is asked."""
    calls = [item for item in response.output if item.type == "function_call"]
    if not calls:
        STORE.unlink(missing_ok=True)
        return False
    kept = {"response_id": response.id, "calls": [call.model_dump() for call in calls]}
    STORE.write_text(json.dumps(kept, indent=2))
    return True


def ask_people(pause: dict) -> list[dict]:
    answers = []
    for call in pause["calls"]:
        payload = json.loads(call["arguments"])
        choices = "/".join(payload["choices"])
        answer = input(f"[{payload['team']}] {payload['question']} ({choices}) ")
        answers.append(
            {"type": "function_call_output", "call_id": call["call_id"], "output": answer}
        )
    return answers


def begin():
    # Our own id of the run: if the answer is lost on its way, the same request shows the same pause again.
    return client.responses.create(
        model="refunds",
        input=" ".join(sys.argv[1:]) or "Please refund 120.",
        metadata={"lgos_run_id": str(uuid4())},
    )


def go_on(pause: dict):
    try:
        return client.responses.create(
            model="refunds", previous_response_id=pause["response_id"], input=ask_people(pause)
        )
    except EOFError:
        sys.exit("\nThe questions are stored; run this again to answer them.")
    except ConflictError:
        STORE.unlink()
        sys.exit("This refund was decided in the meantime.")


pause = paused()
response = begin() if pause is None else go_on(pause)
while store(response):
    response = go_on(paused())
print(response.output_text)
