"""The same graph in a FastAPI application of your own: `uvicorn app:app`."""

from fastapi import FastAPI
from greeter import config

from langgraph_openai_serve import GraphRegistry, LanggraphOpenaiServe

app = FastAPI(title="Greetings")
registry = GraphRegistry(graphs={"greeter": config})
LanggraphOpenaiServe(registry=registry, app=app).bind_openai_api()
