#!/bin/bash
# First process of the test node: STATE PROGRAMS NODE NODE_IP IMAGE_TAR...
#
# It runs inside its own pid, mount, uts, ipc and network namespace. When it is killed, the kernel ends the
# container runtime, every pod and every mount below with it, so nothing of the node can stay behind.
set -euo pipefail
state=$1 programs=$2 node=$3 node_ip=$4
shift 4

mount --make-rshared /
mount -t tmpfs tmpfs /run       # shim sockets and addresses of pods
mkdir /run/netns
mount -t tmpfs tmpfs /var/log   # the kubelet's links to container logs
mkdir -p /var/lib/kubelet "$state/kubelet-plugins"
mount --bind "$state/kubelet-plugins" /var/lib/kubelet   # sockets of device plugins have a fixed path there
hostname "$node"
ip link set lo up
sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0
export PATH=$programs:/usr/sbin:/usr/bin:/sbin:/bin

in_background() {
  local name=$1
  shift
  "$@" >>"$state/log/$name.log" 2>&1 </dev/null &
}

wait_until() {   # SECONDS COMMAND...
  local deadline=$((SECONDS + $1))
  shift
  until "$@"; do
    if ((SECONDS > deadline)); then
      echo "gave up waiting for: $*" >&2
      exit 1
    fi
    sleep 0.1
  done
}

import_image() {
  ctr -a "$state/containerd.sock" -n k8s.io images import --snapshotter overlayfs "$1" >>"$state/log/import.log" 2>&1
}

in_background containerd containerd --config "$state/containerd.toml" --log-level warn
for image in "$@"; do
  wait_until 60 import_image "$image"
done
touch "$state/images.done"
wait_until 120 test -e "$state/control-plane.ready"
in_background kubelet kubelet --config "$state/kubelet.json" --root-dir "$state/kubelet" \
  --kubeconfig "$state/pki/kubelet.kubeconfig" --hostname-override "$node" --node-ip "$node_ip"
in_background kube-proxy kube-proxy --config "$state/kube-proxy.json"
in_background coredns coredns -conf "$state/Corefile"
trap 'exit 0' TERM INT
while :; do
  sleep 3600 &
  wait $! || true
done
