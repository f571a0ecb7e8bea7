"""Certificate authority, certificates and kubeconfigs of a test cluster, made with the openssl command."""

from __future__ import annotations

import base64
import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools.settings import ClusterSettings

DAYS = "3650"


def issue(settings: ClusterSettings) -> None:
    """Write everything the programs need into `settings.pki`; does nothing when it is there.

    The controller manager gets an administrator's rights under its own name: it then needs no token per
    controller, and the audit log still tells its writes from a test's.
    """
    if settings.kubeconfig.exists():
        return
    folder = settings.pki
    folder.mkdir(parents=True, exist_ok=True)
    _key(folder / "ca.key")
    _openssl(
        folder,
        "req",
        "-x509",
        "-new",
        "-key",
        "ca.key",
        "-days",
        DAYS,
        "-subj",
        "/CN=lgos-test-ca",
        # Python 3.13 checks certificates strictly: an authority has to say that it may sign.
        "-addext",
        "keyUsage=critical,keyCertSign,cRLSign",
        "-out",
        "ca.crt",
    )
    _key(folder / "sa.key")
    _openssl(folder, "ec", "-in", "sa.key", "-pubout", "-out", "sa.pub")
    clients = {
        "controllers": "/O=system:masters/CN=system:kube-controller-manager",
        "scheduler": "/CN=system:kube-scheduler",
        "proxy": "/CN=system:kube-proxy",
        "dns": "/CN=lgos-test-dns",
        "kubelet": f"/O=system:nodes/CN=system:node:{settings.node}",
        "admin": "/O=system:masters/CN=lgos-test-admin",
    }
    with ThreadPoolExecutor() as pool:
        jobs = [
            pool.submit(_certificate, folder, name, subject, "clientAuth")
            for name, subject in clients.items()
        ]
        jobs.append(
            pool.submit(
                _certificate,
                folder,
                "apiserver",
                "/CN=kube-apiserver",
                "serverAuth",
                _names(settings),
            )
        )
        for job in jobs:
            job.result()
    for name in clients:
        _kubeconfig(folder, name, settings.server)


def _names(settings: ClusterSettings) -> str:
    service = "kubernetes.default.svc"
    hosts = ["localhost", "kubernetes", "kubernetes.default", service, f"{service}.cluster.local"]
    addresses = sorted({"127.0.0.1", settings.host, settings.first_service})
    return ",".join(
        [*(f"DNS:{host}" for host in hosts), *(f"IP:{address}" for address in addresses)]
    )


def _openssl(folder: Path, *arguments: str) -> None:
    done = subprocess.run(
        ["openssl", *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        msg = f"openssl {' '.join(arguments)} failed: {done.stderr.strip()}"
        raise RuntimeError(msg)


def _key(path: Path) -> None:
    _openssl(path.parent, "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", path.name)
    path.chmod(0o600)


def _certificate(folder: Path, name: str, subject: str, usage: str, names: str = "") -> None:
    extensions = folder / f"{name}.ext"
    extensions.write_text(
        f"extendedKeyUsage={usage}\nauthorityKeyIdentifier=keyid\nsubjectKeyIdentifier=hash\n"
        + (f"subjectAltName={names}\n" if names else "")
    )
    _key(folder / f"{name}.key")
    _openssl(folder, "req", "-new", "-key", f"{name}.key", "-subj", subject, "-out", f"{name}.csr")
    signing = ["-CA", "ca.crt", "-CAkey", "ca.key", "-days", DAYS, "-extfile", extensions.name]
    # Without a serial file openssl 3 draws a random serial number, so that certificates can be made at once.
    _openssl(folder, "x509", "-req", "-in", f"{name}.csr", *signing, "-out", f"{name}.crt")


def _kubeconfig(folder: Path, name: str, server: str) -> None:
    def data(file: str) -> str:
        return base64.b64encode((folder / file).read_bytes()).decode()

    user = {"client-certificate-data": data(f"{name}.crt"), "client-key-data": data(f"{name}.key")}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": "lgos",
                "cluster": {"server": server, "certificate-authority-data": data("ca.crt")},
            }
        ],
        "users": [{"name": name, "user": user}],
        "contexts": [{"name": "lgos", "context": {"cluster": "lgos", "user": name}}],
        "current-context": "lgos",
    }
    path = folder / f"{name}.kubeconfig"
    path.write_text(json.dumps(document, indent=1))
    path.chmod(0o600)
