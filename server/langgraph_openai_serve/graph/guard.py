"""Keeps a run without its lease from writing checkpoints, whatever checkpointer the graph has.

LangGraph writes checkpoints when a run ends, also a cancelled one, so a run that lost its lease would overwrite what its
successor stored. The guard is a subclass made for the checkpointer's own class: it stays what it is in every other way.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
)

from langgraph_openai_serve.errors import LeaseLost
from langgraph_openai_serve.ports.coordinator import current_lease
from langgraph_openai_serve.ports.observer import LeaseWrite, RunObserver

Saver = BaseCheckpointSaver[Any]


def guarded(saver: Saver, observer: RunObserver) -> Saver:
    """Return `saver` with every write refused to a run whose lease is gone.

    Args:
        saver: The graph's checkpointer; connections and stored threads stay shared with it.
        observer: Told about refused writes.
    """

    def check(write: LeaseWrite) -> None:
        lease = current_lease.get()
        if lease is None:
            return
        try:
            lease.check()
        except LeaseLost:
            observer.lease_write_refused(lease.key.model, write)
            raise

    kind: Any = type(saver)

    class Guarded(kind):  # type: ignore[misc]  # the base is only known here
        async def aput(
            self,
            config: RunnableConfig,
            checkpoint: Checkpoint,
            metadata: CheckpointMetadata,
            new_versions: ChannelVersions,
        ) -> RunnableConfig:
            check(LeaseWrite.CHECKPOINT)
            stored: RunnableConfig = await super().aput(config, checkpoint, metadata, new_versions)
            return stored

        async def aput_writes(
            self,
            config: RunnableConfig,
            writes: Sequence[tuple[str, Any]],
            task_id: str,
            task_path: str = "",
        ) -> None:
            check(LeaseWrite.WRITES)
            await super().aput_writes(config, writes, task_id, task_path)

        async def adelete_thread(self, thread_id: str) -> None:
            check(LeaseWrite.DELETE)
            await super().adelete_thread(thread_id)

    Guarded.__name__ = Guarded.__qualname__ = f"Guarded{kind.__name__}"
    clone = copy.copy(saver)
    clone.__class__ = Guarded
    return clone
