"""etcd, kube-apiserver, kube-controller-manager and kube-scheduler as plain processes of the host.

On 127.0.0.1 they need no root: that is level 1, enough for CRDs, RBAC and controllers of objects.
"""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.request

from tools import certificates
from tools.processes import running, start, stop, wait_for
from tools.settings import ClusterSettings

PROGRAMS = ("kube-scheduler", "kube-controller-manager", "kube-apiserver", "etcd")
"""In the order that they are stopped."""

AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived", "ResponseStarted"],
    "rules": [
        {
            "level": "None",
            "nonResourceURLs": ["/healthz*", "/livez*", "/readyz*", "/version", "/openapi/*"],
        },
        {"level": "None", "users": ["system:apiserver"]},
        {"level": "Metadata"},
    ],
}
"""Who did what to which object, without bodies: enough to count the writes of one program."""


def start_control_plane(settings: ClusterSettings, *, scheduler: bool) -> None:
    """Start the programs and return when the API server says that it is ready.

    Raises:
        RuntimeError: a program ended at once; the message ends with the tail of its log.
        TimeoutError: the API server was not ready in time.
    """
    certificates.issue(settings)
    (settings.state / "audit-policy.json").write_text(json.dumps(AUDIT_POLICY))
    _start_etcd(settings)
    _start_api_server(settings)
    _start_controllers(settings)
    if scheduler:
        command = [
            settings.programs / "kube-scheduler",
            "--kubeconfig",
            settings.pki / "scheduler.kubeconfig",
        ]
        start(settings.state, "kube-scheduler", [*command, *_single_instance()])
    wait_for(
        lambda: _ready(settings),
        90,
        f"the API server at {settings.server} (logs: {settings.state}/log)",
    )


def stop_control_plane(settings: ClusterSettings) -> None:
    """Stop the programs that run."""
    for name in PROGRAMS:
        stop(settings.state, name)


def _single_instance() -> list[str]:
    return [
        "--leader-elect=false",
        "--bind-address=127.0.0.1",
        "--secure-port=0",
        "--profiling=false",
    ]


def _start_etcd(settings: ClusterSettings) -> None:
    client = f"http://127.0.0.1:{settings.etcd_port}"
    peer = f"http://127.0.0.1:{settings.etcd_port + 1}"
    flags = {
        "name": "lgos",
        "data-dir": settings.state / "etcd",
        "log-level": "warn",
        "listen-client-urls": client,
        "advertise-client-urls": client,
        "listen-peer-urls": peer,
        "initial-advertise-peer-urls": peer,
        "initial-cluster": f"lgos={peer}",
    }
    command = [settings.programs / "etcd", "--unsafe-no-fsync", *_flags(flags)]
    start(settings.state, "etcd", command)


def _start_api_server(settings: ClusterSettings) -> None:
    pki = settings.pki
    flags = {
        "etcd-servers": f"http://127.0.0.1:{settings.etcd_port}",
        "bind-address": settings.host,
        "advertise-address": settings.host,
        "secure-port": settings.api_port,
        "tls-cert-file": pki / "apiserver.crt",
        "tls-private-key-file": pki / "apiserver.key",
        "client-ca-file": pki / "ca.crt",
        "kubelet-client-certificate": pki / "admin.crt",
        "kubelet-client-key": pki / "admin.key",
        "kubelet-preferred-address-types": "InternalIP",
        "service-account-issuer": "https://kubernetes.default.svc.cluster.local",
        "service-account-key-file": pki / "sa.pub",
        "service-account-signing-key-file": pki / "sa.key",
        "service-cluster-ip-range": settings.services,
        "authorization-mode": "Node,RBAC",
        "enable-admission-plugins": "NodeRestriction",
        "allow-privileged": "true",
        "profiling": "false",
        "audit-policy-file": settings.state / "audit-policy.json",
        "audit-log-path": settings.audit_log,
    }
    if settings.host == "127.0.0.1":  # an address that no Endpoints object may hold
        flags["endpoint-reconciler-type"] = "none"
    start(settings.state, "kube-apiserver", [settings.programs / "kube-apiserver", *_flags(flags)])


def _start_controllers(settings: ClusterSettings) -> None:
    pki = settings.pki
    flags = {
        "kubeconfig": pki / "controllers.kubeconfig",
        "root-ca-file": pki / "ca.crt",
        "service-account-private-key-file": pki / "sa.key",
        "cluster-signing-cert-file": pki / "ca.crt",
        "cluster-signing-key-file": pki / "ca.key",
        "service-cluster-ip-range": settings.services,
        # The default folder lies in /usr and would be created there.
        "flex-volume-plugin-dir": settings.state / "flex",
        # Shorter than the defaults, so that tests do not wait for them.
        "horizontal-pod-autoscaler-sync-period": "2s",
        "horizontal-pod-autoscaler-cpu-initialization-period": "1s",
        "horizontal-pod-autoscaler-initial-readiness-delay": "1s",
        "node-monitor-period": "2s",
        "node-monitor-grace-period": "16s",
    }
    command = [settings.programs / "kube-controller-manager", *_single_instance(), *_flags(flags)]
    start(settings.state, "kube-controller-manager", command)


def _flags(values: dict[str, object]) -> list[str]:
    return [f"--{name}={value}" for name, value in values.items()]


def _ready(settings: ClusterSettings) -> bool:
    for name in ("etcd", "kube-apiserver"):
        if running(settings.state, name) is None:
            log = (settings.state / "log" / f"{name}.log").read_text(errors="replace")
            msg = f"{name} ended while the cluster started: {log[-2000:]}"
            raise RuntimeError(msg)
    trust = ssl.create_default_context(cafile=settings.pki / "ca.crt")
    trust.load_cert_chain(settings.pki / "admin.crt", settings.pki / "admin.key")
    # No proxy of the environment stands between the tests and their own API server.
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=trust)
    )
    try:
        with opener.open(f"{settings.server}/readyz", timeout=2) as answer:
            return answer.status == 200
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False
