"""Addresses and folders of one test cluster, so that two can run side by side on one machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """What one cluster occupies on the machine."""

    slot: int
    """Which of the clusters that may run at once; every address below follows from it."""
    programs: Path
    """Folder of etcd, kube-apiserver, kubelet, ..."""
    state: Path
    """All files of the cluster. Short, because Unix socket paths hold 107 characters; not below /run or
    /var/log, which the node replaces by its own."""
    host: str
    """Address of the API server: 127.0.0.1, or the host's end of the link to the node."""
    api_port: int
    etcd_port: int

    @property
    def name(self) -> str:
        """Name of the network namespace, the link and the cgroup."""
        return f"lgos{self.slot}"

    @property
    def node(self) -> str:
        """Name of the only node."""
        return f"{self.name}-node"

    @property
    def node_ip(self) -> str:
        """The node's end of the link."""
        return f"10.245.{self.slot}.2"

    @property
    def pods(self) -> str:
        """Addresses of the pods."""
        return f"10.244.{self.slot}.0/24"

    @property
    def services(self) -> str:
        """Addresses of the Services."""
        return f"10.{96 + self.slot}.0.0/16"

    @property
    def first_service(self) -> str:
        """Address of the Service `kubernetes`."""
        return f"10.{96 + self.slot}.0.1"

    @property
    def server(self) -> str:
        """URL of the API server."""
        return f"https://{self.host}:{self.api_port}"

    @property
    def lock(self) -> Path:
        """Locked while the cluster runs. Beside the state, not in a cache: all checkouts share the addresses."""
        return self.state.with_name(f"{self.state.name}.lock")

    @property
    def pki(self) -> Path:
        """Folder of certificates and kubeconfigs."""
        return self.state / "pki"

    @property
    def kubeconfig(self) -> Path:
        """Kubeconfig of the administrator."""
        return self.pki / "admin.kubeconfig"

    @property
    def audit_log(self) -> Path:
        """The API server's audit log, one JSON object a line."""
        return self.state / "log" / "audit.jsonl"

    @property
    def containerd(self) -> Path:
        """Socket of the container runtime."""
        return self.state / "containerd.sock"


def node_settings(slot: int, programs: Path) -> ClusterSettings:
    """Return the settings of a whole node."""
    return ClusterSettings(
        slot=slot,
        programs=programs,
        state=Path(f"/var/tmp/lgos-node-{slot}"),  # noqa: S108 -- root only, made with mode 0700
        host=f"10.245.{slot}.1",
        api_port=6443,
        etcd_port=23790 + 10 * slot,
    )


def api_settings(slot: int, programs: Path, user: int) -> ClusterSettings:
    """Return the settings of an API server without a node, for one user of the machine."""
    return ClusterSettings(
        slot=slot,
        programs=programs,
        state=Path(f"/var/tmp/lgos-api-{user}-{slot}"),  # noqa: S108 -- made with mode 0700
        host="127.0.0.1",
        api_port=26443 + slot,
        etcd_port=26790 + 10 * slot,
    )
