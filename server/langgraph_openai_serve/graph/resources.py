"""`PlatformResources`: what a deployment gives to the graphs that ask for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from langgraph_openai_serve.ports.coordinator import InMemoryRunCoordinator, RunCoordinator


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformResources:
    """Shared by all graphs of a process; each default lives as long as the process.

    A factory of a graph gets what its parameters name: `checkpointer`, `store`, `coordinator`, or `resources` for all.
    """

    checkpointer: BaseCheckpointSaver[Any] = field(default_factory=InMemorySaver)
    """Where runs pause. A graph with interrupts that was compiled without one gets it."""
    store: BaseStore = field(default_factory=InMemoryStore)
    """Where graphs keep data of their own."""
    coordinator: RunCoordinator = field(default_factory=InMemoryRunCoordinator)
    """Keeps runs of one operation apart."""

    def named(self, name: str) -> Any:
        """Return the resource that a factory's parameter names.

        Raises:
            KeyError: There is none of this name.
        """
        if name == "resources":
            return self
        if name not in self.__slots__:
            raise KeyError(name)
        return getattr(self, name)
