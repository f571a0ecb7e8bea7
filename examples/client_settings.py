"""Settings with the OpenAI SDK: what a model lets clients choose, and a request that chooses."""

import json
import os

from openai import OpenAI

client = OpenAI(
    base_url=os.environ.get("OPENAI_BASE_URL", "http://127.0.0.1:8000/v1"),
    api_key=os.environ.get("OPENAI_API_KEY", "unused"),
)

model = client.models.retrieve("settings")
print(model.model_extra["lgos"]["client_settings"]["defaults"])

response = client.responses.create(model="settings", input="What is LangGraph?")
print(response.output_text)

chosen = {"audience": "expert", "layout": {"bullets": True}}
response = client.responses.create(
    model="settings",
    input="What is LangGraph?",
    metadata={"lgos_settings": json.dumps(chosen)},
)
print(response.output_text)
