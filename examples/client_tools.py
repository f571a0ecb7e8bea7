"""Functions with the OpenAI SDK: the graph calls them, the client runs them and sends the results."""

import json
import os

from openai import OpenAI

client = OpenAI(
    base_url=os.environ.get("OPENAI_BASE_URL", "http://127.0.0.1:8000/v1"),
    api_key=os.environ.get("OPENAI_API_KEY", "unused"),
)


def get_weather(city: str) -> str:
    return {"Oslo": "snow", "Rome": "sun"}.get(city, "rain")


weather = {
    "type": "function",
    "name": "get_weather",
    "description": "Tell the weather of a city.",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
    "strict": True,
}
items = [{"role": "user", "content": "Oslo and Rome"}]
response = client.responses.create(
    model="tools",
    input=items,
    tools=[weather],
    tool_choice={"type": "function", "name": "get_weather"},
)
items += response.output
for call in response.output:
    result = get_weather(**json.loads(call.arguments))
    print(f"{call.name}({call.arguments}) is {result}")
    items.append({"type": "function_call_output", "call_id": call.call_id, "output": result})

response = client.responses.create(model="tools", input=items, tools=[weather])
print(response.output_text)
