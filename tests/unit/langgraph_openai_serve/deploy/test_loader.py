"""Every kind of graph attribute is loaded, and every mistake is a sentence that names the next step."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from langgraph_openai_serve.deploy.imports import is_installed
from langgraph_openai_serve.deploy.loader import LoadedGraph, load_graph
from langgraph_openai_serve.errors import ConfigurationError
from langgraph_openai_serve.graph.resources import PlatformResources

GRAPHS = """
from contextlib import asynccontextmanager, contextmanager

from langgraph.graph import START, MessagesState, StateGraph

from langgraph_openai_serve import ConfigurationError, GraphConfig

builder = StateGraph(MessagesState)
builder.add_node("node", lambda state: {})
builder.add_edge(START, "node")
graph = builder.compile()
config = GraphConfig(graph=graph, description="A config.")
lazy = GraphConfig(graph=lambda: graph, description="A config with a factory.")
misfit = GraphConfig(graph=lambda: "text", description="Its factory gives text.")
number = 7
opened = []


def sync_factory(*args, depth=1):
    return graph


async def async_factory():
    return config


@contextmanager
def sync_context():
    opened.append("sync")
    yield graph
    opened.remove("sync")


@asynccontextmanager
async def async_context():
    opened.append("async")
    yield config
    opened.remove("async")


def generator():
    yield graph


async def async_generator():
    yield graph


def needs_database(database):
    return graph


def fails():
    raise ValueError("no database\\nsecond line")


def refuses():
    raise ConfigurationError("set THE_KEY")


def silent():
    raise KeyError


class Graph:
    pass


def takes_resources(checkpointer, store, *, coordinator, resources=None, tracing=False):
    assert (checkpointer, store, coordinator, tracing) == (
        resources.checkpointer, resources.store, resources.coordinator, False
    )
    return builder.compile(checkpointer=checkpointer)


_inner = GraphConfig(graph=lambda store: builder.compile(store=store), description="Needs a store.")
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder to import from; what was imported from it is forgotten."""
    before = set(sys.modules)
    (tmp_path / "some_graphs.py").write_text(GRAPHS)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]


async def load(target: str) -> LoadedGraph:
    async with AsyncExitStack() as resources:
        return await load_graph(target, resources)


async def mistake(target: str) -> str:
    with pytest.raises(ConfigurationError) as caught:
        await load(target)
    assert "\n" not in caught.value.message
    return caught.value.message


@pytest.mark.usefixtures("folder")
async def test_factory_gets_the_resources_that_it_names() -> None:
    platform = PlatformResources()
    async with AsyncExitStack() as opened:
        taken = await load_graph("some_graphs:takes_resources", opened, platform)
        inner = await load_graph("some_graphs:_inner", opened, platform)

    assert taken.config.compiled().checkpointer is platform.checkpointer
    assert inner.config.compiled().store is platform.store


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("attribute", "is_bare"),
    [
        ("graph", True),
        ("config", False),
        ("lazy", False),
        ("sync_factory", True),
        ("async_factory", False),
        ("sync_context", True),
        ("async_context", False),
    ],
)
async def test_attribute_gives_its_compiled_graph(attribute: str, is_bare: bool) -> None:
    loaded = await load(f"some_graphs:{attribute}")
    assert loaded.is_bare is is_bare
    assert loaded.config.graph is sys.modules["some_graphs"].graph


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_context_manager_stays_open_until_the_stack_closes(kind: str) -> None:
    async with AsyncExitStack() as resources:
        await load_graph(f"some_graphs:{kind}_context", resources)
        assert sys.modules["some_graphs"].opened == [kind]
    assert sys.modules["some_graphs"].opened == []


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("some_graphs", "'some_graphs' does not name a graph; write it as package.module:attribute"),
        ("some_graphs:confg", "module 'some_graphs' has no attribute 'confg'; did you mean 'config'?"),
        ("some_graphs:agent", "module 'some_graphs' has no attribute 'agent'; it has 'graph' and 'config' and 'lazy' and 'misfit'"),
        ("json:agent", "module 'json' has no attribute 'agent'; it has no graph and no GraphConfig either"),
        ("some_graphs:builder", "'some_graphs:builder' is a StateGraph that is not compiled; add .compile()"),
        ("some_graphs:generator", "'some_graphs:generator' is a generator function; decorate it with @contextlib.contextmanager"),
        ("some_graphs:async_generator", "'some_graphs:async_generator' is a generator function; decorate it with @contextlib.asynccontextmanager"),
        ("some_graphs:fails", "the factory 'some_graphs:fails' failed: ValueError: no database (some_graphs.py, line 54)"),
        ("some_graphs:silent", "the factory 'some_graphs:silent' failed: KeyError (some_graphs.py, line 62)"),
        ("some_graphs:refuses", "the factory 'some_graphs:refuses' cannot make a graph: set THE_KEY"),
        ("json.absent:graph", "the package 'json' has no module 'absent'; correct the name in 'json.absent'"),
    ],
)  # fmt: skip
async def test_mistake_is_named(target: str, sentence: str) -> None:
    assert await mistake(target) == sentence


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("attribute", "words"),
    [
        ("number", "'some_graphs:number' is of type int; it must be a compiled LangGraph graph"),
        ("Graph", "'some_graphs:Graph' is the class Graph; it must be"),
        ("misfit", "'some_graphs:misfit.graph' is of type str; it must be"),
        ("needs_database", "takes the parameter 'database', which the platform does not have; it has checkpointer, store"),
    ],
)  # fmt: skip
async def test_wrong_kind_of_attribute_is_named(attribute: str, words: str) -> None:
    assert words in await mistake(f"some_graphs:{attribute}")


async def test_absent_module_is_told_with_the_folders_that_were_searched(folder: Path) -> None:
    sentence = await mistake("absent_package.module:graph")
    assert sentence.startswith("there is no module 'absent_package' here; install the package")
    assert str(folder) in sentence
    assert "site-packages" not in sentence


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("import absent_library.part\n", "cannot be imported because it needs the module 'absent_library'"),
        ("x = {}\n\nx['key']\n", "cannot be imported: KeyError: 'key' (faulty.py, line 3)"),
        ("def f(:\n", "cannot be imported: faulty.py, line 1 is not valid Python"),
        ("raise SystemExit(3)\n", "cannot be imported: it ends the process with exit code 3"),
    ],
)  # fmt: skip
async def test_module_that_cannot_be_imported_is_told_with_the_cause(
    folder: Path, source: str, words: str
) -> None:
    (folder / "faulty.py").write_text(source)
    assert words in await mistake("faulty:graph")


async def test_a_callable_without_a_signature_is_simply_called() -> None:
    assert "'builtins:vars' is of type dict; it must be" in await mistake("builtins:vars")


def test_installed_files_are_nobodys_working_copy(tmp_path: Path) -> None:
    assert is_installed(Path(pytest.__file__))
    assert is_installed(Path("/python.zip"))
    assert not is_installed(tmp_path / "agent.py")
