"""The API process: submits, reads and cancels runs of a Hatchet engine. `uvicorn api:app`."""

from fastapi import FastAPI
from graphs import registry
from hatchet_sdk import Hatchet

from langgraph_openai_serve import LanggraphOpenaiServe
from langgraph_openai_serve.integrations.hatchet import (
    HatchetBackgroundBackend,
    create_hatchet_task,
)

hatchet = Hatchet()
backend = HatchetBackgroundBackend(create_hatchet_task(hatchet), hatchet.runs)
app = FastAPI()
server = LanggraphOpenaiServe(registry=registry, app=app, background=backend)
server.bind_openai_api()
