"""Server tools and files with the OpenAI SDK: what the graph executes, what it cites, what it is sent."""

import os

from openai import OpenAI

client = OpenAI(
    base_url=os.environ.get("OPENAI_BASE_URL", "http://127.0.0.1:8000/v1"),
    api_key=os.environ.get("OPENAI_API_KEY", "unused"),
)

response = client.responses.create(
    model="research",
    input="What does LangGraph build?",
    tools=[{"type": "custom", "name": "package_version"}, {"type": "web_search"}],
)
for item in response.output:
    if item.type == "custom_tool_call":
        print(f"{item.name}({item.input})")
    elif item.type == "web_search_call":
        print(f"searched for: {item.action.query}")
    elif item.type == "message":
        part = item.content[0]
        print(part.text)
        for citation in part.annotations:
            print(f"[{citation.title}] {part.text[citation.start_index : citation.end_index + 1]}")

answer = client.responses.create(
    model="files",
    input=[
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "What is in it?"},
                {"type": "input_file", "file_id": "file-abc123"},
            ],
        }
    ],
)
print(answer.output_text)
