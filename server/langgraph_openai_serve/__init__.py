"""Serve LangGraph graphs through the OpenAI API."""
