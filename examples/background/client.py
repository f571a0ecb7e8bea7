"""Creates a Response in the background and polls it. One key for all tries of one create: they start one run."""

import asyncio
import os
from uuid import uuid4

from openai import AsyncOpenAI


async def main() -> None:
    async with AsyncOpenAI(
        base_url=os.environ.get("OPENAI_BASE_URL", "http://127.0.0.1:8000/v1"),
        api_key=os.environ.get("OPENAI_API_KEY", "unused"),
    ) as client:
        accepted = await client.responses.create(
            model="background-mock",
            input="Summarize the migration risks and next actions.",
            background=True,
            store=True,
            extra_headers={"Idempotency-Key": str(uuid4())},
        )

        while True:
            response = await client.responses.retrieve(accepted.id)
            if response.status not in {"queued", "in_progress"}:
                break
            await asyncio.sleep(1)

        print(response.status, response.output_text)


asyncio.run(main())
