"""Files with the OpenAI SDK: one goes to the graph by its id, the one that the graph makes is shown here."""

import json
import os

from openai import OpenAI

client = OpenAI(
    base_url=os.environ.get("OPENAI_BASE_URL", "http://127.0.0.1:8000/v1"),
    api_key=os.environ.get("OPENAI_API_KEY", "unused"),
)

# The Files API is a service of its own; graph and client use the same one.
files = OpenAI(
    base_url=os.environ["FILES_BASE_URL"], api_key=os.environ.get("FILES_API_KEY", "unused")
).files


def display_file(file_id: str, filename: str) -> str:
    print(f"{filename}: {files.content(file_id).text}")
    return filename


display = {
    "type": "function",
    "name": "display_file",
    "description": "Show a file to the user.",
    "parameters": {
        "type": "object",
        "properties": {"file_id": {"type": "string"}, "filename": {"type": "string"}},
        "required": ["file_id", "filename"],
        "additionalProperties": False,
    },
    "strict": True,
}
poem = files.create(file=("poem.txt", b"Roses are red"), purpose="user_data")
content = [
    {"type": "input_text", "text": "Count the words."},
    {"type": "input_file", "file_id": poem.id},
]
items = [{"role": "user", "content": content}]
response = client.responses.create(model="files", input=items, tools=[display])
items += response.output
for call in response.output:
    shown = display_file(**json.loads(call.arguments))
    items.append({"type": "function_call_output", "call_id": call.call_id, "output": shown})

response = client.responses.create(model="files", input=items, tools=[display])
print(response.output_text)
