"""The clusters that tests use: a node of our own, an API server of our own, or one that exists already."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.audit import AuditLog
from tools.control_plane import start_control_plane, stop_control_plane
from tools.kubernetes_programs import build_programs, programs_dir
from tools.node import load_image, missing_parts, start_node, stop_node
from tools.settings import ClusterSettings, api_settings, node_settings

NODE_SLOTS = 2
"""Nodes that may run at once: 600 MB of memory each, and two cores are soon busy."""
API_SLOTS = 6


@dataclass(frozen=True, slots=True)
class Cluster:
    """A running cluster, as a test sees it."""

    kubeconfig: Path
    kubectl_program: Path
    settings: ClusterSettings | None = None
    """`None` for a cluster that this process did not start."""

    def kubectl(self, *arguments: str, stdin: str | None = None, check: bool = True) -> str:
        """Run kubectl and return what it prints.

        Raises:
            AssertionError: kubectl failed (only with `check`); the message holds its error.
        """
        command = [self.kubectl_program, "--kubeconfig", self.kubeconfig, *arguments]
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)
        if check and done.returncode != 0:
            msg = (
                f"kubectl {' '.join(arguments)} ended with {done.returncode}: {done.stderr.strip()}"
            )
            raise AssertionError(msg)
        return done.stdout if check else done.stdout + done.stderr

    def load_image(self, archive: Path) -> None:
        """Make the images of an archive (docker or OCI) known to the node.

        A cluster that exists already pulls its images: there is nothing to do.
        """
        if self.settings is not None:
            load_image(self.settings, archive)

    @property
    def audit_log(self) -> AuditLog | None:
        """The API server's audit log; `None` for a cluster that exists already."""
        return AuditLog(self.settings.audit_log) if self.settings is not None else None

    def log_tails(self, lines: int = 15) -> dict[str, str]:
        """Return the last lines of each program's log, by program."""
        if self.settings is None:
            return {}
        logs = sorted((self.settings.state / "log").glob("*.log"))
        return {
            log.stem: "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
            for log in logs
        }

    @contextlib.contextmanager
    def service_url(self, namespace: str, service: str, port: int) -> Iterator[str]:
        """Give a base URL of a Service: its cluster address, or a forwarded port on an existing cluster."""
        if self.settings is not None:
            question = [
                "get",
                "-n",
                namespace,
                f"service/{service}",
                "-o",
                "jsonpath={.spec.clusterIP}",
            ]
            yield f"http://{self.kubectl(*question)}:{port}"
            return
        forward = ["port-forward", "-n", namespace, f"service/{service}", f":{port}"]
        command = [self.kubectl_program, "--kubeconfig", self.kubeconfig, *forward]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                # "Forwarding from 127.0.0.1:40123 -> 8080"; the end of the output when it failed
                line = process.stdout.readline() if process.stdout else ""
                found = re.search(r":(\d+) ->", line)
                assert found, f"kubectl {' '.join(forward)} forwarded no port"
                yield f"http://127.0.0.1:{found[1]}"
            finally:
                process.terminate()

    def report(self) -> str:
        """Return what helps to see why a test failed: pods, events and the programs' logs."""
        questions = {
            "pods": ["get", "pods", "-A", "-o", "wide"],
            "models": ["get", "langgraphmodels", "-A"],
            "events": ["get", "events", "-A", "--sort-by=.lastTimestamp"],
        }
        parts = [
            f"--- {title}\n{_last(self.kubectl(*question, check=False), 60)}"
            for title, question in questions.items()
        ]
        parts += [f"--- {name}\n{tail}" for name, tail in self.log_tails().items()]
        return "\n".join(parts)


def _last(text: str, lines: int) -> str:
    return "\n".join(text.rstrip().splitlines()[-lines:])


def existing_cluster(kubeconfig: Path) -> Cluster:
    """Return the cluster of a kubeconfig that the caller brought; kubectl comes from PATH, else from our build."""
    found = shutil.which("kubectl")
    return Cluster(kubeconfig, Path(found) if found else build_programs() / "kubectl")


def why_no_api() -> str | None:
    """Return what this machine lacks to run an API server, `None` when nothing."""
    if sys.platform != "linux":
        return "the test cluster needs Linux"
    if not (programs_dir() / "kube-apiserver").exists():
        return "the Kubernetes programs are not built: run `python tests/tools/cluster.py build` (minutes)"
    if shutil.which("openssl") is None:
        return "the test cluster needs the openssl command"
    return None


def why_no_node() -> str | None:
    """Return what this machine lacks to run a whole node, `None` when nothing."""
    reason = why_no_api()
    if reason is not None:
        return reason
    if os.geteuid() != 0:
        return "a test node needs root"
    missing = missing_parts()
    if missing:
        return (
            f"a test node lacks {', '.join(missing)}: run `python tests/tools/cluster.py packages`"
        )
    return None


@contextlib.contextmanager
def running_node() -> Iterator[Cluster]:
    """Run a whole node; it is gone when the block ends."""
    programs = build_programs()
    with _free_one([node_settings(slot, programs) for slot in range(NODE_SLOTS)]) as settings:
        cluster = Cluster(settings.kubeconfig, programs / "kubectl", settings)
        with _ended(lambda: stop_node(settings)):
            with _explained(cluster):
                start_node(settings)
            yield cluster


@contextlib.contextmanager
def running_api() -> Iterator[Cluster]:
    """Run etcd, the API server and the controller manager; they are gone when the block ends."""
    programs = build_programs()
    user = os.getuid()
    with _free_one([api_settings(slot, programs, user) for slot in range(API_SLOTS)]) as settings:

        def clean() -> None:
            stop_control_plane(settings)
            shutil.rmtree(settings.state, ignore_errors=True)

        clean()
        settings.state.mkdir(mode=0o700)
        cluster = Cluster(settings.kubeconfig, programs / "kubectl", settings)
        with _ended(clean):
            with _explained(cluster):
                start_control_plane(settings, scheduler=False)
            yield cluster


@contextlib.contextmanager
def _ended(clean: Callable[[], None]) -> Iterator[None]:
    try:
        yield
    finally:
        clean()


@contextlib.contextmanager
def _explained(cluster: Cluster) -> Iterator[None]:
    """Add the tails of all logs to the error of a start that failed: the files are gone afterwards."""
    try:
        yield
    except Exception as error:
        for name, tail in cluster.log_tails().items():
            error.add_note(f"--- {name}\n{tail}")
        raise


@contextlib.contextmanager
def _free_one(choices: list[ClusterSettings]) -> Iterator[ClusterSettings]:
    """Hold the first settings that no cluster uses; wait for the first ones when all are taken."""
    with contextlib.ExitStack() as files:
        for settings in choices:
            file = files.enter_context(settings.lock.open("w"))
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            yield settings
            return
        count = len(choices)
        print(
            f"all {count} test clusters of this machine are in use: waiting for one",
            file=sys.stderr,
            flush=True,
        )
        file = files.enter_context(choices[0].lock.open("w"))
        fcntl.flock(file, fcntl.LOCK_EX)
        yield choices[0]
