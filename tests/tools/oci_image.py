"""OCI image archives written from files of this machine, for images that need no Dockerfile.

The layers are uncompressed, so a layer's digest is also its `diff_id`.
"""

from __future__ import annotations

import hashlib
import io
import json
import platform
import tarfile
from pathlib import Path

from tools.cache import building, cache_dir, digest, forget_others

BUSYBOX = Path("/bin/busybox")
BUSYBOX_IMAGE = "localhost/busybox:test"
PAUSE_IMAGE = "localhost/pause:test"
COMMANDS = (
    "cat",
    "echo",
    "env",
    "false",
    "httpd",
    "id",
    "ls",
    "nslookup",
    "ps",
    "sh",
    "sleep",
    "test",
    "touch",
    "true",
    "wget",
)
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def busybox_images() -> list[Path]:
    """Return the archives of the pause image, which holds a pod's namespaces, and of a small shell image."""
    key = digest([Path(__file__)], hashlib.sha256(BUSYBOX.read_bytes()).hexdigest())
    target = cache_dir() / f"busybox-{key}"
    with building(target) as scratch:
        if scratch is not None:
            layer = _busybox_layer()
            waiting = "trap 'exit 0' TERM INT; while :; do sleep 3600 & wait $!; done"
            write_image(scratch / "pause.tar", PAUSE_IMAGE, layer, ["/bin/sh", "-c", waiting])
            write_image(scratch / "busybox.tar", BUSYBOX_IMAGE, layer, ["/bin/sh"])
    forget_others(target)
    return [target / "pause.tar", target / "busybox.tar"]


def _busybox_layer() -> bytes:
    """Return the layer: busybox, links to it, users and a /tmp for all."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for folder, mode in (("bin", 0o755), ("etc", 0o755), ("tmp", 0o1777)):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, mode
            tar.addfile(entry)
        _add_file(tar, "bin/busybox", BUSYBOX.read_bytes(), 0o755)
        _add_file(
            tar, "etc/passwd", b"root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n"
        )
        _add_file(tar, "etc/group", b"root:x:0:\nnogroup:x:65534:\n")
        for command in COMMANDS:
            entry = tarfile.TarInfo(f"bin/{command}")
            entry.type, entry.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(entry)
    return buffer.getvalue()


def _add_file(tar: tarfile.TarFile, name: str, data: bytes, mode: int = 0o644) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(data), mode
    tar.addfile(entry, io.BytesIO(data))


def write_image(path: Path, name: str, layer: bytes, command: list[str]) -> None:
    """Write an OCI archive of one layer that the container runtime imports as `name`."""
    blobs: dict[str, bytes] = {}

    def blob(data: bytes, media_type: str) -> dict[str, object]:
        checksum = hashlib.sha256(data).hexdigest()
        blobs[f"blobs/sha256/{checksum}"] = data
        return {
            "mediaType": f"application/vnd.oci.image.{media_type}",
            "digest": f"sha256:{checksum}",
            "size": len(data),
        }

    content = blob(layer, "layer.v1.tar")
    settings = {
        "architecture": ARCHITECTURES[platform.machine()],
        "os": "linux",
        "config": {"Entrypoint": command, "Env": ["PATH=/bin"]},
        "rootfs": {"type": "layers", "diff_ids": [content["digest"]]},
    }
    config = blob(json.dumps(settings).encode(), "config.v1+json")
    body = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": config,
        "layers": [content],
    }
    manifest = blob(json.dumps(body).encode(), "manifest.v1+json")
    manifest["annotations"] = {"io.containerd.image.name": name}
    with tarfile.open(path, "w") as tar:
        _add_file(tar, "oci-layout", b'{"imageLayoutVersion":"1.0.0"}')
        _add_file(
            tar, "index.json", json.dumps({"schemaVersion": 2, "manifests": [manifest]}).encode()
        )
        for file, data in blobs.items():
            _add_file(tar, file, data)
