"""The programs of a Kubernetes cluster, built once from pinned Go modules into the cache.

`tests/tools/kubernetes/` is a Go module whose one binary is etcd, kube-apiserver, kubelet, kubectl, ...
depending on the name it is called by. The first build takes about six minutes on two idle cores; go.mod,
go.sum and the Go files decide the cache key.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

from tools.cache import ROOT, building, cache_dir, digest, forget_others
from tools.go import go_environment

MODULE = ROOT / "tests" / "tools" / "kubernetes"
KUBERNETES_VERSION = "v1.34.9"
PROGRAMS = (
    "coredns",
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-proxy",
    "kube-scheduler",
    "kubectl",
    "kubelet",
)


def programs_dir() -> Path:
    """Return the folder of the programs for this version of the module; it may not be built yet."""
    sources = [MODULE / "go.mod", MODULE / "go.sum", *MODULE.glob("*.go")]
    return cache_dir() / f"kubernetes-{digest(sources, KUBERNETES_VERSION)}"


def build_programs() -> Path:
    """Build the programs when the cache has none for this version; return their folder."""
    target = programs_dir()
    with building(target) as scratch:
        if scratch is not None:
            _build(scratch)
    forget_others(target)
    return target


def _build(folder: Path) -> None:
    started = time.monotonic()
    print(
        f"Kubernetes {KUBERNETES_VERSION}: building (minutes when cold)",
        file=sys.stderr,
        flush=True,
    )
    environment = go_environment()
    go = shutil.which("go", path=environment["PATH"])
    if go is None:
        msg = "no Go was found in PATH: install Go 1.24 or newer"
        raise FileNotFoundError(msg)
    # Lists what is linked, which downloads just that; `go mod download` would fetch the whole graph.
    subprocess.run(
        [go, "list", "-deps", "."],
        cwd=MODULE,
        env=environment,
        stdout=subprocess.DEVNULL,
        check=True,
    )
    binary = folder / "programs"
    command = [go, "build", "-trimpath", "-ldflags", f"-s -w {_version_flags()}", "-o", binary, "."]
    subprocess.run(command, cwd=MODULE, env=environment, check=True)
    for name in PROGRAMS:
        (folder / name).symlink_to(binary.name)
    seconds = time.monotonic() - started
    print(f"Kubernetes {KUBERNETES_VERSION}: built in {seconds:.0f} s", file=sys.stderr, flush=True)


def _version_flags() -> str:
    major, minor, _ = KUBERNETES_VERSION.removeprefix("v").split(".")
    values = {
        "gitVersion": KUBERNETES_VERSION,
        "gitMajor": major,
        "gitMinor": minor,
        "gitTreeState": "clean",
        "gitCommit": "module",
    }
    return " ".join(
        f"-X k8s.io/component-base/version.{key}={value}" for key, value in values.items()
    )
