"""Jobs as tasks of the application's own process: `uvicorn in_one_process:app`."""

from fastapi import FastAPI
from graphs import registry

from langgraph_openai_serve import InMemoryBackgroundBackend, LanggraphOpenaiServe

background = InMemoryBackgroundBackend(registry)
app = FastAPI(lifespan=background.lifespan)
server = LanggraphOpenaiServe(registry=registry, app=app, background=background)
server.bind_openai_api()
