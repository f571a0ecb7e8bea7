"""Citations with the OpenAI SDK: the cited part of an answer and its source, by both APIs."""

import os

from openai import OpenAI

client = OpenAI(
    base_url=os.environ.get("OPENAI_BASE_URL", "http://127.0.0.1:8000/v1"),
    api_key=os.environ.get("OPENAI_API_KEY", "unused"),
)

question = "What does LangGraph build?"
response = client.responses.create(model="citations", input=question)
part = response.output[0].content[0]
print(part.text)
for citation in part.annotations:
    print(f"{part.text[citation.start_index : citation.end_index + 1]} is {citation.title}")

stream = client.chat.completions.create(
    model="citations", messages=[{"role": "user", "content": question}], stream=True
)
for chunk in stream:
    delta = chunk.choices[0].delta
    for annotation in (delta.model_extra or {}).get("annotations", []):
        print(annotation["url_citation"]["url"])
