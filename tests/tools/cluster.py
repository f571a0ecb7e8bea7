"""Command line of the tests' tools: `python tests/tools/cluster.py COMMAND`.

packages  install the Debian packages that are missing (root)
build     build the Kubernetes programs into the cache
helm      install helm into the cache and print its path
images    build the images of the Dockerfiles into the cache (root)
run       run a node (root), print its kubeconfig, end it on Ctrl-C
run-api   run an API server without a node, print its kubeconfig, end it on Ctrl-C

Needs only the standard library.
"""

from __future__ import annotations

import contextlib
import signal
import sys
from pathlib import Path
from types import FrameType

if __package__ in {None, ""}:  # run as a file: make the package importable
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from tools.cache import ROOT
from tools.clusters import Cluster, running_api, running_node, why_no_node
from tools.helm import helm_binary
from tools.images import build_images
from tools.kubernetes_programs import build_programs
from tools.packages import install_packages


def main(arguments: list[str]) -> int:
    """Run one command; return the exit status."""
    commands = {
        "packages": install_packages,
        "build": lambda: print(build_programs()),
        "helm": lambda: print(helm_binary()),
        "images": _images,
        "run": _run_node,
        "run-api": lambda: _serve(running_api()),
    }
    if len(arguments) != 1 or arguments[0] not in commands:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        commands[arguments[0]]()
    except KeyboardInterrupt:
        return 130
    return 0


def _images() -> None:
    for name, archive in build_images().items():
        print(name, archive)


def _run_node() -> None:
    build_programs()
    reason = why_no_node()
    if reason is not None:
        sys.exit(reason)
    _serve(running_node())


def _serve(cluster: contextlib.AbstractContextManager[Cluster]) -> None:
    signal.signal(signal.SIGTERM, _interrupt)
    with cluster as running:
        print(f"export KUBECONFIG={running.kubeconfig}", flush=True)
        print(
            f"kubectl: {running.kubectl_program}; end it with Ctrl-C; repository: {ROOT}",
            file=sys.stderr,
        )
        signal.pause()


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
