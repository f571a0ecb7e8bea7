"""Progress with the OpenAI SDK: a stream tells what the graph does apart from what it answers."""

import os

from openai import OpenAI

client = OpenAI(
    base_url=os.environ.get("OPENAI_BASE_URL", "http://127.0.0.1:8000/v1"),
    api_key=os.environ.get("OPENAI_API_KEY", "unused"),
)

phases = {}
with client.responses.stream(model="writer", input="progress") as stream:
    for event in stream:
        if event.type == "response.output_item.added":
            phases[event.output_index] = event.item.phase
        elif event.type == "response.output_text.delta":
            if phases[event.output_index] == "commentary":
                print(f"({event.delta})")
            else:
                print(event.delta, end="", flush=True)
    response = stream.get_final_response()
print()

# `response.output_text` would join both; a transcript keeps the answer.
[answer] = [item for item in response.output if item.phase == "final_answer"]
print(len(answer.content[0].text.split()), "words")
