"""Pages to answer from: those of a SearXNG-compatible service where one is configured, else a few that are kept here."""

from __future__ import annotations

import os
import re

import httpx
from langchain_core.messages import AIMessage
from langchain_core.tools import tool

Page = dict[str, str]
PAGES: list[Page] = [
    {
        "title": "LangGraph overview",
        "url": "https://docs.langchain.com/oss/python/langgraph/overview",
        "content": "LangGraph builds stateful agents as graphs of steps.",
    },
    {
        "title": "OpenAI Responses",
        "url": "https://platform.openai.com/docs/api-reference/responses",
        "content": "The Responses API returns typed items and streams them as events.",
    },
    {
        "title": "Kubernetes operators",
        "url": "https://kubernetes.io/docs/concepts/extend-kubernetes/operator/",
        "content": "An operator runs an application by watching its own resources.",
    },
]


@tool(response_format="content_and_artifact")
async def web_search(query: str) -> tuple[str, list[Page]]:
    """Search the web."""
    service = os.environ.get("SEARXNG_URL")
    pages = await ask(service, query) if service else kept(query)
    return as_text(pages), pages


async def ask(service: str, query: str) -> list[Page]:
    """Asks a SearXNG service for its first three results."""
    async with httpx.AsyncClient(timeout=10) as http:
        question = {"q": query, "format": "json"}
        reply = await http.get(f"{service.rstrip('/')}/search", params=question)
    found = reply.raise_for_status().json()["results"][:3]
    return [
        {
            "title": page.get("title") or page["url"],
            "url": page["url"],
            "content": page.get("content") or "",
        }
        for page in found
    ]


def kept(query: str) -> list[Page]:
    """Finds kept pages that share a word with the query, those that share most first."""
    asked = words(query)
    shared = {page["url"]: len(asked & words(page["content"])) for page in PAGES}
    found = [page for page in PAGES if shared[page["url"]]]
    return sorted(found, key=lambda page: -shared[page["url"]])


def words(text: str) -> set[str]:
    """The words of a text that say something."""
    return {word for word in re.findall(r"\w+", text.lower()) if len(word) > 3}


def as_text(pages: list[Page]) -> str:
    """What a model reads: each page's content and the link to repeat."""
    return "\n".join(
        f"{page['content']} [{re.sub(r'[][]', '', page['title'])}]({page['url']})" for page in pages
    )


def cite(message: AIMessage, pages: list[Page]) -> AIMessage:
    """Returns the message with a citation on each link to one of the pages; other links stay plain text."""
    text = message.text
    citations = [
        {
            "type": "citation",
            "url": page["url"],
            "title": page["title"],
            "start_index": link.start(),
            "end_index": link.end() - 1,
            "cited_text": link[0],
        }
        for page in pages
        for link in re.finditer(rf"\[[^]]*\]\({re.escape(page['url'])}\)", text)
    ]
    return message.model_copy(
        update={"content": [{"type": "text", "text": text, "annotations": citations}]}
    )
