"""Responses with the OpenAI SDK: an answer, and the same streamed."""

import os

from openai import OpenAI

client = OpenAI(
    base_url=os.environ.get("OPENAI_BASE_URL", "http://127.0.0.1:8000/v1"),
    api_key=os.environ.get("OPENAI_API_KEY", "unused"),
)

response = client.responses.create(
    model="echo", input="Hello", metadata={"lgos_settings": '{"shout": true}'}
)
print(response.output_text)

with client.responses.stream(model="writer", input="streaming") as stream:
    for event in stream:
        if event.type == "response.output_text.delta":
            print(event.delta, end="", flush=True)
        elif event.type == "response.output_text.done":
            print()
    usage = stream.get_final_response().usage
print(f"{usage.output_tokens if usage else 'no'} output tokens")
