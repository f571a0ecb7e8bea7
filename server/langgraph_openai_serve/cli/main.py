"""`lgos`: one command for every program and tool. Sub commands import what they need when they run."""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Final

DISTRIBUTION: Final = "langgraph-openai-serve"
OWN_PACKAGES: Final = (
    "langgraph_openai_serve",
    "lgos_contract",
    "lgos_gateway",
    "lgos_kube",
    "lgos_operator",
)
DURATION: Final = re.compile(r"(?P<number>[0-9]{1,8})(?P<unit>[smhd])")
UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
EPILOG: Final = "Each command has its own help: lgos COMMAND --help"

Command = Callable[[argparse.Namespace], int]


class CommandError(Exception):
    """A command cannot do what it was asked; the message is for people."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Returns:
        0 when it did what it was asked, 1 when it could not, 2 for wrong arguments.
    """
    options = argument_parser().parse_args(arguments)
    run: Command = options.run
    try:
        code = run(options)
        sys.stdout.flush()
    except CommandError as error:
        sys.stderr.write(f"lgos {options.command}: {error}\n")
        return 1
    except BrokenPipeError:
        # The reader of our output has left (`lgos render … | head`); Python must not complain about it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    return code


def argument_parser() -> argparse.ArgumentParser:
    """Return the parser of every command's arguments."""
    parser = argparse.ArgumentParser(
        prog="lgos", description="Serve LangGraph graphs through the OpenAI API.", epilog=EPILOG
    )
    parser.add_argument("--version", action="version", version=_version())
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(name: str, run: Command, summary: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=summary, description=summary)
        command.set_defaults(run=run)
        return command

    _add_dev(add("dev", _dev, "Serve manifests on this machine and reload when a file changes."))
    check = add(
        "check", _check, "Import a graph and print its facts, or say what is wrong with it."
    )
    check.add_argument("graph", metavar="MODULE:ATTRIBUTE", help="the graph, as in spec.graph")
    _add_path(check)
    render = add("render", _render, "Print what the operator would apply for manifests, as YAML.")
    _add_files(render)
    _add_sweep(add("sweep", _sweep, "Delete paused runs that nobody answered in time."))
    _add_keys(add("keys", _keys, "Make API keys for the gateway."))
    add("serve", _serve, "Serve one model in its container; the environment says which.")
    add("worker", _worker, "Run one model's background Responses; the environment says which.")
    add("gateway", _gateway, "Run the gateway; the environment configures it.")
    add("operator", _operator, "Run the operator; the environment configures it.")
    add("version", _print_version, "Print the version.")
    return parser


def _add_dev(dev: argparse.ArgumentParser) -> None:
    _add_files(dev)
    dev.add_argument(
        "--host", default="127.0.0.1", help="address to listen on (default: %(default)s)"
    )
    dev.add_argument(
        "--port", type=_port, default=8000, help="port, 0 for any (default: %(default)s)"
    )
    dev.add_argument(
        "--log-level",
        choices=("debug", "info", "warning", "error"),
        default="warning",
        help="what the server logs (default: %(default)s)",
    )
    _add_path(dev)


def _add_files(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "-f",
        "--file",
        dest="files",
        metavar="FILE_OR_FOLDER",
        type=Path,
        action="extend",
        nargs="+",
        required=True,
        help="manifests, or folders with *.yaml and *.yml files",
    )


def _add_path(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--path",
        dest="paths",
        metavar="FOLDER",
        type=Path,
        action="append",
        default=[],
        help="another folder to import graphs from; may be given several times",
    )


def _add_sweep(sweep: argparse.ArgumentParser) -> None:
    sweep.add_argument(
        "--retention",
        type=_duration,
        default="7d",
        help="how long runs are kept whose model says nothing about it, as 12h or 7d (default: %(default)s)",
    )
    sweep.add_argument(
        "--dry-run", action="store_true", help="print what would be deleted and delete nothing"
    )


def _add_keys(keys: argparse.ArgumentParser) -> None:
    actions = keys.add_subparsers(dest="action", required=True, metavar="ACTION")
    summary = (
        "Print a key's entry for the Secret of API keys, and the key itself to standard error."
    )
    new = actions.add_parser("new", help=summary, description=summary)
    new.add_argument("id", metavar="ID", help="names the key in logs, such as ci-bot")
    new.add_argument("--scope", required=True, help="owner of the key's runs, such as team-a")
    new.add_argument(
        "--model",
        dest="models",
        metavar="NAME",
        action="append",
        help="a model that the key may use, or a beginning with * at its end; may be given several times (default: all)",
    )
    new.add_argument("--requests-per-minute", type=int, metavar="N", help="rate limit of one pod")
    new.add_argument(
        "--max-concurrent", type=int, metavar="N", help="open requests at one pod at once"
    )
    new.add_argument(
        "--expires-in", type=_duration, metavar="TIME", help="how long it is valid, as 90d"
    )


def _duration(text: str) -> timedelta:
    found = DURATION.fullmatch(text)
    if found is None:
        msg = f"'{text}' is not a duration; use a whole number and s, m, h or d, such as 12h or 7d"
        raise argparse.ArgumentTypeError(msg)
    return timedelta(**{UNITS[found["unit"]]: int(found["number"])})


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) < 65536):
        msg = f"'{text}' is not a port; use a whole number from 0 to 65535"
        raise argparse.ArgumentTypeError(msg)
    return int(text)


@contextmanager
def needs_extra(command: str, extra: str) -> Iterator[None]:
    """Turn a missing third-party module inside the block into a sentence that names the extra."""
    try:
        yield
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing in {"", *OWN_PACKAGES}:
            raise
        raise CommandError(_extra_sentence(command, extra, missing)) from error


def _extra_sentence(command: str, extra: str, missing: str) -> str:
    return (
        f"lgos {command} needs the extra '{extra}' ({missing} is not installed):"
        f" pip install '{DISTRIBUTION}[{extra}]'"
    )


def _dev(options: argparse.Namespace) -> int:
    with needs_extra("dev", "server"):
        from langgraph_openai_serve.cli.dev import dev
    from langgraph_openai_serve.cli.handover import LocalOptions

    for module in ("uvicorn", "yaml"):
        if importlib.util.find_spec(module) is None:
            raise CommandError(_extra_sentence("dev", "server", module))
    return dev(
        LocalOptions(
            files=tuple(map(str, options.files)),
            host=options.host,
            port=options.port,
            paths=tuple(map(str, options.paths)),
            log_level=options.log_level,
        )
    )


def _check(options: argparse.Namespace) -> int:
    from langgraph_openai_serve.cli.check import check
    from langgraph_openai_serve.errors import ConfigurationError

    try:
        print(check(options.graph, options.paths))
    except ConfigurationError as error:
        raise CommandError(error.message) from error
    return 0


def _render(options: argparse.Namespace) -> int:
    with needs_extra("render", "operator"):
        from langgraph_openai_serve.cli.render import render_files
    from langgraph_openai_serve.errors import ConfigurationError

    try:
        text, notes = render_files(options.files)
    except ConfigurationError as error:
        raise CommandError(error.message) from error
    for note in notes:
        sys.stderr.write(f"{note}\n")
    print(text, end="")
    return 0


def _sweep(options: argparse.Namespace) -> int:
    with needs_extra("sweep", "postgres"):
        from langgraph_openai_serve.deploy.sweep import sweep
    return sweep(options.retention, dry_run=options.dry_run)


def _keys(options: argparse.Namespace) -> int:
    from langgraph_openai_serve.cli.keys import new_entry

    try:
        key, entry = new_entry(
            options.id,
            options.scope,
            models=options.models,
            requests_per_minute=options.requests_per_minute,
            max_concurrent=options.max_concurrent,
            expires_in=options.expires_in,
        )
    except ValueError as error:
        raise CommandError(str(error)) from error
    sys.stderr.write(f"The key, shown this once: {key}\n")
    print(entry)
    return 0


def _serve(_options: argparse.Namespace) -> int:
    # The first process of a container ignores SIGTERM until it has a handler, and the imports below take a second.
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(0))
    with needs_extra("serve", "server"):
        from langgraph_openai_serve.deploy.api import serve
    return serve()


def _worker(_options: argparse.Namespace) -> int:
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(0))
    with needs_extra("worker", "server"):
        from langgraph_openai_serve.deploy.worker import work
    return work()


def _gateway(_options: argparse.Namespace) -> int:
    with needs_extra("gateway", "gateway"):
        from lgos_gateway.program import run
    return run()


def _operator(_options: argparse.Namespace) -> int:
    with needs_extra("operator", "operator"):
        from lgos_operator.program import run
    return run()


def _print_version(_options: argparse.Namespace) -> int:
    print(_version())
    return 0


def _version() -> str:
    from importlib.metadata import version

    return f"lgos {version(DISTRIBUTION)}"


if __name__ == "__main__":
    sys.exit(main())
