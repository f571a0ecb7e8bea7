"""Configuration files of the node's programs, tuned so that tests see changes within a second or two."""

from __future__ import annotations

import json
from pathlib import Path

from tools.oci_image import PAUSE_IMAGE
from tools.settings import ClusterSettings

CNI_FOLDERS = (Path("/opt/cni/bin"), Path("/usr/lib/cni"))
"""Where the network plugins are: by hand, or from Debian's package."""


def cni_folder() -> Path | None:
    """Return the folder of the network plugins, `None` when there are none."""
    return next((folder for folder in CNI_FOLDERS if (folder / "ptp").exists()), None)


def write_node_files(settings: ClusterSettings) -> None:
    """Write all files into the cluster's folder."""
    state = settings.state
    (state / "cni").mkdir()
    _write(state / "cni" / "10-lgos.conflist", _network(settings))
    _write(state / "kubelet.json", _kubelet(settings))
    _write(state / "kube-proxy.json", _proxy(settings))
    (state / "containerd.toml").write_text(_containerd(settings))
    (state / "Corefile").write_text(_dns(settings))
    (state / "resolv.conf").write_text(f"nameserver {settings.node_ip}\n")


def _write(path: Path, document: object) -> None:
    path.write_text(json.dumps(document, indent=1))


def _network(settings: ClusterSettings) -> dict[str, object]:
    # Point-to-point links: all pod traffic is routed, so no bridge and no masquerading is needed, and the
    # test process and the pods reach each other by address.
    addresses = {
        "type": "host-local",
        "subnet": settings.pods,
        "dataDir": "/run/cni-addresses",
        "routes": [{"dst": "0.0.0.0/0"}],
    }
    plugins = [
        {"type": "ptp", "mtu": 1400, "ipam": addresses},
        {"type": "portmap", "capabilities": {"portMappings": True}},
    ]
    return {"cniVersion": "0.4.0", "name": "lgos", "plugins": plugins}


def _kubelet(settings: ClusterSettings) -> dict[str, object]:
    state = settings.state
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": settings.node_ip,
        "healthzBindAddress": "127.0.0.1",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": False},
            "x509": {"clientCAFile": str(settings.pki / "ca.crt")},
        },
        "authorization": {"mode": "AlwaysAllow"},
        "clusterDNS": [settings.node_ip],
        "clusterDomain": "cluster.local",
        "resolvConf": str(state / "resolv.conf"),
        "containerRuntimeEndpoint": f"unix://{settings.containerd}",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{settings.name}",
        "failCgroupV1": False,
        "failSwapOn": False,
        "makeIPTablesUtilChains": False,
        "podLogsDir": str(state / "pod-logs"),
        "volumePluginDir": str(state / "volume-plugins"),
        # A changed ConfigMap reaches its volume in a second instead of a minute.
        "syncFrequency": "1s",
        "configMapAndSecretChangeDetectionStrategy": "Watch",
        "nodeStatusUpdateFrequency": "2s",
        "serializeImagePulls": False,
        "registryPullQPS": 0,
        "eventRecordQPS": 0,
        # Images cannot be pulled again: keep them, however full the disk is.
        "imageGCHighThresholdPercent": 100,
        "evictionHard": {
            "memory.available": "0%",
            "nodefs.available": "0%",
            "nodefs.inodesFree": "0%",
            "imagefs.available": "0%",
            "imagefs.inodesFree": "0%",
        },
    }


def _proxy(settings: ClusterSettings) -> dict[str, object]:
    # Only the initial network namespace may change connection tracking: leave every limit alone.
    conntrack = {"maxPerCore": 0, "min": 0} | dict.fromkeys(
        ("tcpEstablishedTimeout", "tcpCloseWaitTimeout", "udpTimeout", "udpStreamTimeout"), "0s"
    )
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "nftables",
        "hostnameOverride": settings.node,
        "clientConnection": {"kubeconfig": str(settings.pki / "proxy.kubeconfig")},
        "clusterCIDR": settings.pods,
        "conntrack": conntrack,
        "nftables": {"minSyncPeriod": "100ms", "syncPeriod": "30s"},
    }


def _containerd(settings: ClusterSettings) -> str:
    # `restrict_oom_score_adj`: virtual machines and containers often lack CAP_SYS_RESOURCE, without which
    # runc cannot lower the score and no container starts.
    return f"""\
version = 2
root = "{settings.state}/containerd"
state = "/run/containerd"
disabled_plugins = ["io.containerd.internal.v1.opt"]
[grpc]
  address = "{settings.containerd}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE_IMAGE}"
  disable_apparmor = true
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "{cni_folder()}"
  conf_dir = "{settings.state}/cni"
[plugins."io.containerd.grpc.v1.cri".containerd]
  snapshotter = "overlayfs"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
  SystemdCgroup = false
"""


def _dns(settings: ClusterSettings) -> str:
    return f"""\
.:53 {{
  bind {settings.node_ip}
  errors
  kubernetes cluster.local in-addr.arpa ip6.arpa {{
    kubeconfig {settings.pki}/dns.kubeconfig
    pods insecure
    ttl 1
  }}
}}
"""
