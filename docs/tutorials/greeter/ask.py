"""Ask the greeter with the OpenAI SDK."""

import os

from openai import OpenAI

client = OpenAI(
    base_url=os.environ.get("OPENAI_BASE_URL", "http://127.0.0.1:8000/v1"),
    api_key=os.environ.get("OPENAI_API_KEY", "unused"),
)

response = client.responses.create(model="greeter", input="Ada")
print(response.output_text)

stream = client.chat.completions.create(
    model="greeter",
    messages=[{"role": "user", "content": "Grace"}],
    metadata={"lgos_settings": '{"word": "Good morning"}'},
    stream=True,
)
print("".join(chunk.choices[0].delta.content or "" for chunk in stream))
