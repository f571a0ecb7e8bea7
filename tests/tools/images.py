"""The images of the project's Dockerfiles, built with buildah and kept in the cache as archives.

No registry is asked: `python:3.13-slim` is made from Debian packages under the official name, and the
Dockerfiles build on it as they are. Archives are keyed by everything that the images are built from; buildah's
own layers, in a storage of their own below the cache, make the rebuild after a change of code quick. Needs root.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tools.cache import ROOT, building, cache_dir, digest, forget_others, lock

IMAGES = {
    "gateway": "server/Dockerfile",
    "operator": "operator/Dockerfile",
    "examples": "examples/image/Dockerfile",
}
"""Dockerfile of each image, by the image's name."""
NEXT = "examples-next"
"""A second image of the example graphs: another name and digest, the same program."""
BASE = "docker.io/library/python:3.13-slim"
BASE_DOCKERFILE = ROOT / "tests" / "tools" / "base.Dockerfile"
SUITE = "trixie"
PACKAGES = "ca-certificates,python3,python3-venv"
COMPANY_FILES = (Path("/etc/ssl/certs/ca-certificates.crt"), Path("/etc/pip.conf"))
"""Mounted into builds when the machine has them, so that builds work behind an intercepting proxy."""


def image_reference(name: str) -> str:
    """Return the name under which a test node has an image."""
    return f"localhost/lgos/{name}:test"


def why_no_images() -> str | None:
    """Return what this machine lacks to build images, `None` when nothing."""
    if os.geteuid() != 0:
        return "building the images needs root"
    missing = [name for name in ("buildah", "mmdebstrap") if shutil.which(name) is None]
    if missing:
        return f"building the images lacks {', '.join(missing)}: run `python tests/tools/cluster.py packages`"
    return None


def build_images() -> dict[str, Path]:
    """Build all images that the cache lacks; return their archives by name."""
    target = cache_dir() / f"images-{_key()}"
    with building(target) as scratch:
        if scratch is not None:
            # One build at a time, whatever its inputs: they share the storage.
            with lock("image-storage"):
                _build_all(scratch)
    forget_others(target)
    return {name: target / f"{name}.tar" for name in [*IMAGES, NEXT]}


def _key() -> str:
    folders = ("server", "operator", "examples/lgos_examples", "examples/image")
    files = [
        ROOT / name
        for name in (".dockerignore", "pyproject.toml", "uv.lock", "README.md", "LICENSE")
    ]
    files += [BASE_DOCKERFILE, Path(__file__)]
    for folder in folders:
        files += [
            path
            for path in (ROOT / folder).rglob("*")
            if path.is_file() and "__pycache__" not in path.parts
        ]
    return digest(files)


def _build_all(archives: Path) -> None:
    _require_base()
    for name, dockerfile in IMAGES.items():
        with _timed(f"image {name}"):
            # The costly stage gets a name, else the pruning below takes it and every build is cold.
            kept = ["--target", "dependencies", "-t", image_reference(f"{name}-dependencies")]
            for wanted in (kept, ["-t", image_reference(name)]):
                _buildah("bud", *_build_options(), "-f", dockerfile, *wanted, ".")
    _derive_next()
    for name in [*IMAGES, NEXT]:
        with _timed(f"archive {name}"):
            reference = image_reference(name)
            _buildah(
                "push", "--quiet", reference, f"docker-archive:{archives / name}.tar:{reference}"
            )
    # What no named image needs any more: the storage would grow with every change.
    _buildah("rmi", "--prune", "--force")


def _build_options() -> list[str]:
    mounts = [file for file in COMPANY_FILES if file.exists()]
    volumes = [f"--volume={file}:{file}:ro" for file in mounts]
    return ["--quiet", "--layers", "--pull=never", "--isolation=chroot", "--network=host", *volumes]


def _derive_next() -> None:
    container = _buildah("from", "--pull-never", image_reference("examples")).strip()
    try:
        _buildah(
            "config",
            "--label",
            "lgos.dev/variant=next",
            "--env",
            "LGOS_EXAMPLES_VARIANT=next",
            container,
        )
        _buildah("commit", "--quiet", container, image_reference(NEXT))
    finally:
        _buildah("rm", container)


def _require_base() -> None:
    """Make the base image unless the storage has the one of this recipe."""
    recipe = digest([BASE_DOCKERFILE], SUITE, PACKAGES)
    label = "lgos.dev/base"
    known = _buildah(
        "images", "--filter", f"label={label}={recipe}", "--quiet", "--no-trunc", check=False
    )
    if known.strip():
        return
    with building(cache_dir() / f"base-{recipe}") as scratch:
        if scratch is not None:
            with _timed("base file system"):
                _debootstrap(scratch / "base.tar")
    folder = cache_dir() / f"base-{recipe}"
    with _timed("base image"):
        options = ["--quiet", "--isolation=chroot", f"--label={label}={recipe}"]
        _buildah("bud", *options, "-f", str(BASE_DOCKERFILE), "-t", BASE, str(folder))
    forget_others(folder, keep=1)


def _debootstrap(archive: Path) -> None:
    unwanted = [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("doc", "locale", "man")]
    options = [
        "--variant=minbase",
        f"--include={PACKAGES}",
        "--format=tar",
        '--aptopt=Acquire::Languages "none"',
    ]
    _run(["mmdebstrap", "--quiet", *options, *unwanted, SUITE, str(archive)])


def _buildah(*arguments: str, check: bool = True) -> str:
    """Run buildah on the storage of the cache; return what it prints."""
    storage = cache_dir() / "image-storage"
    (storage / "tmp").mkdir(parents=True, exist_ok=True)
    where = ["--root", str(storage / "root"), "--runroot", str(storage / "run")]
    # buildah keeps the Dockerfiles' cache mounts below TMPDIR.
    return _run(["buildah", *where, *arguments], check=check, TMPDIR=str(storage / "tmp"))


def _run(command: list[str], *, check: bool = True, **environment: str) -> str:
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if check and done.returncode != 0:
        tail = "\n".join((done.stdout + done.stderr).splitlines()[-30:])
        msg = f"{' '.join(command)} ended with {done.returncode}:\n{tail}"
        raise RuntimeError(msg)
    return done.stdout


@contextlib.contextmanager
def _timed(what: str) -> Iterator[None]:
    started = time.monotonic()
    yield
    print(f"{what}: {time.monotonic() - started:.1f} s", file=sys.stderr, flush=True)
