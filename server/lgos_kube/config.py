"""Where the API server is and who we are: the pod's service account, else a kubeconfig."""

from __future__ import annotations

import base64
import os
import ssl
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from lgos_kube.errors import ConfigurationError

SERVICE_ACCOUNT_DIR: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")


@dataclass(frozen=True, slots=True)
class KubeConfig:
    """Address and credentials of one API server."""

    server: str
    """Base URL without a trailing slash."""
    tls: ssl.SSLContext | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    token_file: Path | None = None
    """Read again before each request: projected tokens rotate."""
    namespace: str = "default"
    """Namespace of the pod or of the kubeconfig's context."""

    def headers(self) -> dict[str, str]:
        """Return the request headers that identify us."""
        token = self.token_file.read_text().strip() if self.token_file else self.token
        return {"Authorization": f"Bearer {token}"} if token else {}


def load_config(kubeconfig: Path | None = None) -> KubeConfig:
    """Return the configuration of the environment.

    Order: `kubeconfig`, `$KUBECONFIG`, the pod's service account, `~/.kube/config`.

    Raises:
        ConfigurationError: None of them is there, or the kubeconfig names what is not in it.
    """
    chosen = kubeconfig or (
        Path(os.environ["KUBECONFIG"]) if os.environ.get("KUBECONFIG") else None
    )
    if chosen is not None:
        return _from_kubeconfig(chosen)
    if (SERVICE_ACCOUNT_DIR / "token").exists():
        return _from_service_account(SERVICE_ACCOUNT_DIR)
    default = Path.home() / ".kube" / "config"
    if default.exists():
        return _from_kubeconfig(default)
    msg = "no Kubernetes credentials: run in a pod, or set KUBECONFIG to a kubeconfig file"
    raise ConfigurationError(msg)


def _from_service_account(folder: Path) -> KubeConfig:
    host = os.environ.get("KUBERNETES_SERVICE_HOST", "kubernetes.default.svc")
    port = os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    if ":" in host:
        host = f"[{host}]"
    return KubeConfig(
        server=f"https://{host}:{port}",
        tls=ssl.create_default_context(cafile=str(folder / "ca.crt")),
        token_file=folder / "token",
        namespace=(folder / "namespace").read_text().strip(),
    )


def _from_kubeconfig(path: Path) -> KubeConfig:
    import yaml  # noqa: PLC0415 - only a kubeconfig needs it; a pod has none

    try:
        document = yaml.safe_load(path.read_text())
    except (OSError, yaml.YAMLError) as error:
        msg = f"cannot read the kubeconfig {path}: {error}"
        raise ConfigurationError(msg) from error
    context = _named(document, "contexts", document.get("current-context"), "context", path)
    cluster = _named(document, "clusters", context.get("cluster"), "cluster", path)
    user = _named(document, "users", context.get("user"), "user", path)
    if "exec" in user or "auth-provider" in user:
        msg = f"the kubeconfig {path} logs in by a plugin; use one with a token or a client certificate"
        raise ConfigurationError(msg)
    token_file = Path(user["tokenFile"]) if user.get("tokenFile") else None
    server = str(cluster["server"]).rstrip("/")
    return KubeConfig(
        server=server,
        tls=_tls(cluster, user) if server.startswith("https") else None,
        token=user.get("token"),
        token_file=token_file,
        namespace=context.get("namespace") or "default",
    )


def _named(
    document: dict[str, Any], section: str, name: Any, key: str, path: Path
) -> dict[str, Any]:
    for entry in document.get(section) or ():
        if entry.get("name") == name:
            found: dict[str, Any] = entry.get(key) or {}
            return found
    msg = f"the kubeconfig {path} has no entry '{name}' in {section}"
    raise ConfigurationError(msg)


def _tls(cluster: dict[str, Any], user: dict[str, Any]) -> ssl.SSLContext:
    data = cluster.get("certificate-authority-data")
    context = ssl.create_default_context(
        cafile=cluster.get("certificate-authority"),
        cadata=base64.b64decode(data).decode() if data else None,
    )
    if cluster.get("insecure-skip-tls-verify"):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if "client-certificate-data" in user:
        # The ssl module loads a client certificate from files only.
        with tempfile.TemporaryDirectory() as folder:
            certificate, key = Path(folder, "tls.crt"), Path(folder, "tls.key")
            certificate.write_bytes(base64.b64decode(user["client-certificate-data"]))
            key.touch(mode=0o600)
            key.write_bytes(base64.b64decode(user["client-key-data"]))
            context.load_cert_chain(certificate, key)
    elif "client-certificate" in user:
        context.load_cert_chain(user["client-certificate"], user["client-key"])
    return context
