"""Server tools with the OpenAI SDK: what the graph executes, what it answers, and a second question."""

import os

from openai import OpenAI

client = OpenAI(
    base_url=os.environ.get("OPENAI_BASE_URL", "http://127.0.0.1:8000/v1"),
    api_key=os.environ.get("OPENAI_API_KEY", "unused"),
)

tools = [{"type": "custom", "name": "package_version"}, {"type": "web_search"}]
items = [{"role": "user", "content": "What does LangGraph build?"}]
response = client.responses.create(model="research", input=items, tools=tools)
for item in response.output:
    if item.type == "custom_tool_call":
        print(f"{item.name}({item.input})")
    elif item.type == "custom_tool_call_output":
        print(f"said: {item.output}")
    elif item.type == "web_search_call":
        print(f"searched for: {item.action.query}")
    elif item.type == "message":
        part = item.content[0]
        print(part.text)
        for citation in part.annotations:
            print(part.text[citation.start_index : citation.end_index + 1])

items += [*response.output, {"role": "user", "content": "What do Responses return?"}]
response = client.responses.create(
    model="research", input=items, tools=tools[1:], tool_choice="required"
)
print(response.output_text)
