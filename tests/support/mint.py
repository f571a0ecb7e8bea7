"""Ids and times that count up, so that a transcript is the same byte for byte every time."""

from __future__ import annotations

from uuid import UUID

from langgraph_openai_serve.protocols.codec import Mint

NOW = 1764547200


def counting_mint() -> Mint:
    """A mint whose ids are their prefix and a counter, and whose clock stands still."""
    made = 0

    def new_id(prefix: str) -> str:
        nonlocal made
        made += 1
        return f"{prefix}{made:04d}"

    def new_uuid() -> UUID:
        nonlocal made
        made += 1
        return UUID(int=made)

    return Mint(new_id=new_id, new_uuid=new_uuid, now=lambda: NOW)
