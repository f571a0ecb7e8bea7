"""The cluster fixture gives a real node: a Deployment runs, its Service answers, the audit log counts."""

from __future__ import annotations

import json
import urllib.request

from tools.audit import AuditLog
from tools.clusters import Cluster
from tools.processes import wait_for

WEB = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - name: web
        image: IMAGE
        command: [sh, -c, "echo $HOSTNAME >/tmp/name && exec httpd -f -p 8080 -h /tmp"]
        readinessProbe: {httpGet: {path: /name, port: 8080}, periodSeconds: 1}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  selector: {app: web}
  ports: [{port: 80, targetPort: 8080}]
"""


def test_node_is_ready(cluster: Cluster) -> None:
    nodes = json.loads(cluster.kubectl("get", "nodes", "-o", "json"))["items"]
    conditions = {each["type"]: each["status"] for each in nodes[0]["status"]["conditions"]}
    assert conditions["Ready"] == "True"


def test_service_of_a_deployment_answers_the_test_and_other_pods(
    cluster: Cluster, namespace: str, busybox_image: str
) -> None:
    cluster.kubectl("apply", "-n", namespace, "-f", "-", stdin=WEB.replace("IMAGE", busybox_image))
    cluster.kubectl(
        "wait", "-n", namespace, "--for=condition=Available", "deployment/web", "--timeout=60s"
    )
    listed = cluster.kubectl("get", "pods", "-n", namespace, "-o", "name").split()
    pods = {name.removeprefix("pod/") for name in listed}
    assert len(pods) == 2
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with (
        cluster.service_url(namespace, "web", 80) as url,
        opener.open(f"{url}/name", timeout=10) as answer,
    ):
        assert answer.read().decode().strip() in pods
    inside = [
        "exec",
        "-n",
        namespace,
        "deployment/web",
        "--",
        "wget",
        "-qO-",
        f"http://web.{namespace}/name",
    ]
    assert cluster.kubectl(*inside).strip() in pods


def test_audit_log_counts_the_writes_of_one_user(
    cluster: Cluster, namespace: str, audit_log: AuditLog
) -> None:
    account = f"system:serviceaccount:{namespace}:default"
    binding = ["rolebinding", "edit", "--clusterrole=edit", f"--serviceaccount={namespace}:default"]
    cluster.kubectl("create", "-n", namespace, *binding)
    as_account = ["-n", namespace, "--as", account]
    mark = audit_log.mark()
    cluster.kubectl("create", *as_account, "configmap", "note", "--from-literal=text=one")
    cluster.kubectl("get", *as_account, "configmap", "note")
    cluster.kubectl("delete", *as_account, "configmap", "note")
    wait_for(lambda: len(audit_log.writes(account, mark)) == 2, 10, "two writes in the audit log")
    assert [(each.verb, each.resource, each.name) for each in audit_log.writes(account, mark)] == [
        ("create", "configmaps", "note"),
        ("delete", "configmaps", "note"),
    ]
    assert "get" in {each.verb for each in audit_log.entries(mark) if each.user == account}
