"""What users and this repository test with: fake models and graphs that need no key and no network."""

from langgraph_openai_serve.testing.graphs import chat_graph, scripted_graph
from langgraph_openai_serve.testing.models import ScriptedChatModel

__all__ = ["ScriptedChatModel", "chat_graph", "scripted_graph"]
