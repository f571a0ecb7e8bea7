"""The process behind `lgos dev`: manifests to a registry, all models behind one API, until it is told to stop.

Started by `langgraph_openai_serve.cli.dev`, once for each state of the files: a fresh process is the only sure way to
run what the files say now.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

from langgraph_openai_serve.cli.handover import LocalOptions, Report
from langgraph_openai_serve.cli.manifests import Manifest, Manifests, read_manifests
from langgraph_openai_serve.cli.search_path import import_from, search_path
from langgraph_openai_serve.cli.sources import folders_of, imported_files
from langgraph_openai_serve.deploy.declaration import Declaration
from langgraph_openai_serve.deploy.process import fast_loop, log_to_stderr
from langgraph_openai_serve.deploy.registry import build_registry
from langgraph_openai_serve.deploy.resources import open_resources
from langgraph_openai_serve.deploy.server import StopSignal, listen, serve_until
from langgraph_openai_serve.errors import ConfigurationError
from langgraph_openai_serve.graph.registry import GraphRegistry
from langgraph_openai_serve.web.server import LanggraphOpenaiServe
from lgos_contract.environment import ENV_POSTGRES_DSN

logger = logging.getLogger(__name__)

DRAIN_SECONDS: Final = 2.0
"""How long open requests may delay a reload."""
KEEP_ALIVE_SECONDS: Final = 75


class LocalServer:
    """One start.

    Args:
        options: What to serve.
        link: The socket to `lgos dev`.
    """

    def __init__(self, options: LocalOptions, link: socket.socket) -> None:
        self._options = options
        self._link = link
        self._paths = [Path(name) for name in options.files]
        self._read = [str(path.absolute()) for path in self._paths if not path.is_dir()]
        self._folders = {str(path.absolute()) for path in self._paths if path.is_dir()}

    def run(self) -> int:
        """Serve until a signal, or until `lgos dev` is gone.

        Returns:
            0 after serving; 1 when the models cannot be served, after a sentence that says why.
        """
        try:
            with asyncio.Runner(loop_factory=fast_loop()) as runner:
                runner.run(self._serve())
        except ConfigurationError as error:
            logger.debug("the models cannot be served", exc_info=True)
            for line in error.message.splitlines():
                sys.stderr.write(f"lgos dev: {line}\n")
            self._report_failure(error)
            return 1
        return 0

    async def _serve(self) -> None:
        stop = StopSignal()
        asyncio.get_running_loop().add_reader(self._link, self._link_readable, stop)
        try:
            async with AsyncExitStack() as resources:
                await self._serve_models(stop, resources)
        except asyncio.CancelledError:
            if not stop.requested.is_set():
                raise
            logger.info("stopped before the models were served")

    async def _serve_models(self, stop: StopSignal, resources: AsyncExitStack) -> None:
        manifests = read_manifests(self._paths)
        folders = search_path([m.path for m in manifests.models], map(Path, self._options.paths))
        import_from(folders)
        self._folders |= set(map(str, folders))
        declarations = [declaration_of(manifest) for manifest in manifests.models]
        dsn = os.environ.get(ENV_POSTGRES_DSN) or None
        platform = await open_resources(declarations, dsn, resources, lasting=False)
        registry = await build_registry(declarations, resources, platform=platform)
        options = self._options
        listener = listen(options.host, options.port, port_setting="--port")
        port = listener.getsockname()[1]

        def started() -> None:
            self._report(self._serving_report(manifests, port))
            print(banner(registry, manifests, options.host, port), flush=True)

        stop.started()
        await serve_until(
            stop.requested,
            LanggraphOpenaiServe(registry=registry).bind_openai_api(),
            listener,
            drain_seconds=DRAIN_SECONDS,
            keep_alive_seconds=KEEP_ALIVE_SECONDS,
            started=started,
        )

    def _link_readable(self, stop: StopSignal) -> None:
        """Nothing is ever sent to us, so a readable socket means that `lgos dev` has ended."""
        asyncio.get_running_loop().remove_reader(self._link)
        stop.request()

    def _serving_report(self, manifests: Manifests, port: int) -> Report:
        files = {
            *self._read,
            *(str(m.path.absolute()) for m in manifests.models),
            *imported_files(),
        }
        given = [str(path.absolute()) for path in self._paths if path.is_dir()]
        return Report(port, tuple(sorted(files)), tuple(given))

    def _report_failure(self, error: ConfigurationError) -> None:
        """Name every folder that may hold the mistake: what is not there cannot be named."""
        files = imported_files(error)
        folders = self._folders | folders_of(files)
        self._report(Report(0, (*self._read, *sorted(files)), tuple(sorted(folders))))

    def _report(self, report: Report) -> None:
        self._link.setblocking(True)
        self._link.sendall(report.dumped())


def declaration_of(manifest: Manifest) -> Declaration:
    """Return what a manifest declares; its file's time stands for the time of creation."""
    created = int(manifest.path.stat().st_mtime)
    return Declaration.from_manifest(manifest.model, created=created)


def banner(registry: GraphRegistry, manifests: Manifests, host: str, port: int) -> str:
    """Return what a person needs to ask the first question."""
    shown = "127.0.0.1" if host in {"0.0.0.0", "::"} else host  # noqa: S104 - not bound here, only shown
    url = f"http://{f'[{shown}]' if ':' in shown else shown}:{port}/v1"
    models = {model.id: model.config.description for model in registry}
    width = max(map(len, models))
    lines = [
        *manifests.notes,
        *_environment_notes(manifests, os.environ.get),
        f"Serving {len(models)} {'model' if len(models) == 1 else 'models'}:",
        *(f"  {name:<{width}}  {description}" for name, description in models.items()),
        f"Base URL: {url} (any API key)",
        "Ask, for example:",
        f"  curl -s {url}/chat/completions -H 'Content-Type: application/json' \\",
        f'    -d \'{{"model": "{next(iter(models))}",'
        ' "messages": [{"role": "user", "content": "Hello"}]}\'',
        "A changed manifest or graph is served at once. Ctrl-C ends.",
    ]
    return "\n".join(lines)


def _environment_notes(manifests: Manifests, get: Callable[[str], str | None]) -> list[str]:
    """All models share this process, so a manifest's variables are not set here; say which are missing."""
    return [
        f"note: {variable.name} of {manifest.model.model_id} is not set here; set it in your shell if the graph needs it"
        for manifest in manifests.models
        for variable in manifest.model.spec.env
        if get(variable.name) is None
    ]


def main(arguments: list[str]) -> int:
    """Run one start: the options as JSON, the number of the link's file descriptor."""
    options = LocalOptions.loaded(arguments[0])
    log_to_stderr(options.log_level)
    with socket.socket(fileno=int(arguments[1])) as link:
        return LocalServer(options, link).run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
