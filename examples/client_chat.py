"""Chat Completions with the OpenAI SDK: an answer, and the same streamed."""

import os

from openai import OpenAI

client = OpenAI(
    base_url=os.environ.get("OPENAI_BASE_URL", "http://127.0.0.1:8000/v1"),
    api_key=os.environ.get("OPENAI_API_KEY", "unused"),
)

completion = client.chat.completions.create(
    model="echo", messages=[{"role": "user", "content": "Hello"}]
)
print(completion.choices[0].message.content)

stream = client.chat.completions.create(
    model="writer", messages=[{"role": "user", "content": "streaming"}], stream=True
)
for chunk in stream:
    if chunk.choices:
        print(chunk.choices[0].delta.content or "", end="", flush=True)
print()
