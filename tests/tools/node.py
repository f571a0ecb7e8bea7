"""A real one-node Kubernetes: kubelet, kube-proxy, CoreDNS and containerd in namespaces of their own.

The control plane runs on the host's end of a link, the node on the other end inside a network namespace.
Killing the first process of the node's PID namespace ends every pod and every mount with it, so `stop_node`
leaves nothing, however the run before it ended. Needs root.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

from tools.control_plane import start_control_plane, stop_control_plane
from tools.kubernetes_programs import MODULE
from tools.node_files import cni_folder, write_node_files
from tools.oci_image import BUSYBOX, busybox_images
from tools.processes import children, kill, running, start, stop, wait_for
from tools.settings import ClusterSettings

PARTS = ("containerd", "ctr", "ip", "nft", "nsenter", "openssl", "runc", "sysctl", "unshare")

SYSCTLS = (
    "kernel.keys.root_maxbytes",
    "kernel.keys.root_maxkeys",
    "kernel.panic",
    "kernel.panic_on_oops",
    "vm.overcommit_memory",
    "vm.panic_on_oom",
)
"""What the kubelet changes for the whole machine."""

DNS_ROLE = """
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: lgos-test-dns}
rules:
- {apiGroups: [""], resources: [endpoints, services, pods, namespaces], verbs: [list, watch]}
- {apiGroups: [discovery.k8s.io], resources: [endpointslices], verbs: [list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: lgos-test-dns}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: lgos-test-dns}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: lgos-test-dns}]
"""


def missing_parts() -> list[str]:
    """Return what this machine lacks for a node."""
    path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    missing = [name for name in PARTS if shutil.which(name, path=path) is None]
    if not BUSYBOX.exists():
        missing.append("busybox")
    if cni_folder() is None:
        missing.append("CNI plugins")
    return missing


def start_node(settings: ClusterSettings) -> None:
    """Start the cluster; return when the node is Ready, images are there and pods can be created."""
    stop_node(settings)
    settings.state.mkdir(mode=0o700, parents=True)
    (settings.state / "log").mkdir()
    _save_sysctls(settings)
    _link(settings)
    for hierarchy in _cgroups():
        (hierarchy / settings.name).mkdir(exist_ok=True)
    write_node_files(settings)
    # containerd starts and loads images while the API server starts.
    enter = ["nsenter", f"--net=/run/netns/{settings.name}"]
    isolate = [
        "unshare",
        "--pid",
        "--mount",
        "--uts",
        "--ipc",
        "--fork",
        "--kill-child",
        "--mount-proc",
    ]
    first = [
        "bash",
        MODULE / "node-init.sh",
        settings.state,
        settings.programs,
        settings.node,
        settings.node_ip,
    ]
    start(
        settings.state,
        "node",
        [*enter, *isolate, "--propagation", "private", *first, *busybox_images()],
    )
    start_control_plane(settings, scheduler=True)
    (settings.state / "control-plane.ready").touch()
    kubectl(settings, "apply", "-f", "-", stdin=DNS_ROLE)
    wait_for(
        lambda: _usable(settings),
        90,
        f"node {settings.node} to be Ready (logs: {settings.state}/log)",
    )


def stop_node(settings: ClusterSettings) -> None:
    """End everything of this cluster, also what a killed run left; may be called at any time."""
    pid = running(settings.state, "node")
    if pid is not None:
        # First the namespace's init: its parent must still be there when the kernel ends all the others.
        for child in children(pid):
            kill(child)
    stop(settings.state, "node")
    stop_control_plane(settings)
    _quietly("ip", "link", "delete", f"{settings.name}-h")
    _quietly("ip", "netns", "delete", settings.name)
    wait_for(lambda: _remove_cgroups(settings), 10, f"the cgroups of {settings.name} to be empty")
    saved = settings.state / "sysctl.saved"
    if saved.exists():
        _run("sysctl", "-q", "-p", str(saved))
    shutil.rmtree(settings.state, ignore_errors=True)


def kubectl(settings: ClusterSettings, *arguments: str, stdin: str | None = None) -> str:
    """Run kubectl as the administrator; return what it prints."""
    command = [settings.programs / "kubectl", "--kubeconfig", settings.kubeconfig, *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, check=True).stdout


def load_image(settings: ClusterSettings, archive: Path) -> None:
    """Import an image archive into the node."""
    address = ["-a", str(settings.containerd), "-n", "k8s.io"]
    _run("ctr", *address, "images", "import", "--snapshotter", "overlayfs", str(archive))


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        msg = f"{' '.join(command)} failed: {done.stderr.strip()}"
        raise RuntimeError(msg)


def _quietly(*command: str) -> None:
    """Run a removal whose target may not exist."""
    subprocess.run(command, capture_output=True, check=False)


def _save_sysctls(settings: ClusterSettings) -> None:
    values = [(name, Path("/proc/sys") / name.replace(".", "/")) for name in SYSCTLS]
    lines = [f"{name}={file.read_text().strip()}\n" for name, file in values if file.exists()]
    (settings.state / "sysctl.saved").write_text("".join(lines))


def _link(settings: ClusterSettings) -> None:
    """Connect the host with the node's network namespace and route pods and Services to it."""
    host_end = f"{settings.name}-h"
    _run("ip", "netns", "add", settings.name)
    _run(
        "ip",
        "link",
        "add",
        host_end,
        "type",
        "veth",
        "peer",
        "name",
        "eth0",
        "netns",
        settings.name,
    )
    _run("ip", "address", "add", f"{settings.host}/30", "dev", host_end)
    _run("ip", "link", "set", host_end, "up")
    inside = ["ip", "-n", settings.name]
    _run(*inside, "address", "add", f"{settings.node_ip}/30", "dev", "eth0")
    _run(*inside, "link", "set", "eth0", "up")
    _run(*inside, "link", "set", "lo", "up")
    _run(*inside, "route", "add", "default", "via", settings.host)
    for network in (settings.pods, settings.services):
        _run("ip", "route", "add", network, "via", settings.node_ip)


def _cgroups() -> list[Path]:
    """Return the mounted cgroup hierarchies: several of version 1, one of version 2, or both."""
    mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    hierarchies = [Path(mount[1]) for mount in mounts if mount[2] in {"cgroup", "cgroup2"}]
    for hierarchy in hierarchies:
        if hierarchy == Path(
            "/sys/fs/cgroup"
        ):  # version 2 only: children get the controllers listed here
            _hand_down_controllers(hierarchy)
    return hierarchies


def _hand_down_controllers(hierarchy: Path) -> None:
    offered = (hierarchy / "cgroup.controllers").read_text().split()
    given = (hierarchy / "cgroup.subtree_control").read_text().split()
    for name in {"cpu", "cpuset", "io", "memory", "pids"} & (set(offered) - set(given)):
        (hierarchy / "cgroup.subtree_control").write_text(f"+{name}")


def _remove_cgroups(settings: ClusterSettings) -> bool:
    left = False
    for hierarchy in _cgroups():
        top = hierarchy / settings.name
        folders = (
            sorted((path for path in top.rglob("*") if path.is_dir()), reverse=True)
            if top.exists()
            else []
        )
        for folder in [*folders, top]:
            try:
                folder.rmdir()
            except FileNotFoundError:
                continue
            except OSError:  # the kernel has not yet let go of its last process
                left = True
    return not left


def _usable(settings: ClusterSettings) -> bool:
    if running(settings.state, "node") is None:
        log = (settings.state / "log" / "node.log").read_text(errors="replace")
        msg = f"the node ended while it started: {log[-2000:]}"
        raise RuntimeError(msg)
    if not (settings.state / "images.done").exists():
        return False
    items = json.loads(kubectl(settings, "get", "nodes", "-o", "json"))["items"]
    conditions = [condition for item in items for condition in item["status"].get("conditions", [])]
    if not any(each["type"] == "Ready" and each["status"] == "True" for each in conditions):
        return False
    return "default" in kubectl(settings, "-n", "default", "get", "serviceaccounts", "-o", "name")
