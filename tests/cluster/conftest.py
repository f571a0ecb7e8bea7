"""Fixtures that give tests a Kubernetes API server or a whole node, started once a session.

`$KUBECONFIG` makes all of them use that cluster instead. A part that the machine lacks skips the test and
says which; with `LGOS_REQUIRE_CLUSTER=1`, as in CI, it fails the test.
"""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tools.audit import AuditLog
from tools.clusters import (
    Cluster,
    existing_cluster,
    running_api,
    running_node,
    why_no_api,
    why_no_node,
)
from tools.helm import helm_binary
from tools.images import IMAGES, build_images, image_reference, why_no_images
from tools.kubernetes_programs import build_programs
from tools.oci_image import BUSYBOX_IMAGE

REQUIRED = os.environ.get("LGOS_REQUIRE_CLUSTER") == "1"
EXISTING = os.environ.get("KUBECONFIG")
IMAGE_PREFIX = os.environ.get("LGOS_TEST_IMAGE_PREFIX")


def _absent(reason: str) -> None:
    """Skip with the name of the missing part, or fail where the part is expected."""
    if REQUIRED:
        pytest.fail(f"LGOS_REQUIRE_CLUSTER=1, but {reason}", pytrace=False)
    pytest.skip(reason)


def _started(cluster: AbstractContextManager[Cluster], what: str) -> Iterator[Cluster]:
    started = time.monotonic()
    with cluster as running:
        print(f"{what}: ready in {time.monotonic() - started:.1f} s")
        yield running


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A cluster with a node: pods run, Services answer."""
    if EXISTING:
        yield existing_cluster(Path(EXISTING))
        return
    if REQUIRED:
        build_programs()
    reason = why_no_node()
    if reason is not None:
        _absent(reason)
    yield from _started(running_node(), "test node")


@pytest.fixture(scope="session")
def kubeconfig(cluster: Cluster) -> Path:
    """Kubeconfig of an administrator of the cluster with a node."""
    return cluster.kubeconfig


@pytest.fixture(scope="session")
def api_cluster() -> Iterator[Cluster]:
    """An API server with the controllers of objects, but no scheduler and no node: every pod stays pending."""
    if EXISTING:
        yield existing_cluster(Path(EXISTING))
        return
    if REQUIRED:
        build_programs()
    reason = why_no_api()
    if reason is not None:
        _absent(reason)
    yield from _started(running_api(), "test API server")


@pytest.fixture(scope="session")
def kubeconfig_api(api_cluster: Cluster) -> Path:
    """Kubeconfig of an administrator of the API server without a node."""
    return api_cluster.kubeconfig


@pytest.fixture(scope="session")
def images(cluster: Cluster) -> dict[str, str]:
    """References of the images that the Dockerfiles give, by name; the node has them.

    An existing cluster pulls them: `$LGOS_TEST_IMAGE_PREFIX/<name>:test`.
    """
    if cluster.settings is None:
        if IMAGE_PREFIX is None:
            _absent(
                "an existing cluster needs LGOS_TEST_IMAGE_PREFIX, where it can pull the images"
            )
        return {name: f"{IMAGE_PREFIX}/{name}:test" for name in IMAGES}
    reason = why_no_images()
    if reason is not None:
        _absent(reason)
    started = time.monotonic()
    archives = build_images()
    built = time.monotonic()
    for archive in archives.values():
        cluster.load_image(archive)
    print(f"images: built in {built - started:.1f} s, loaded in {time.monotonic() - built:.1f} s")
    return {name: image_reference(name) for name in archives}


@pytest.fixture(scope="session")
def busybox_image(cluster: Cluster) -> str:
    """Reference of a small image with a shell and a web server, for pods that need no program of ours."""
    if cluster.settings is not None:
        return BUSYBOX_IMAGE
    return f"{IMAGE_PREFIX}/busybox:test" if IMAGE_PREFIX else "docker.io/library/busybox:1.37"


@pytest.fixture
def audit_log(cluster: Cluster) -> AuditLog:
    """The API server's audit log of the cluster with a node."""
    log = cluster.audit_log
    if log is None:
        pytest.skip("the audit log of an existing cluster cannot be read")
    return log


@pytest.fixture
def namespace(cluster: Cluster) -> Iterator[str]:
    """A fresh namespace whose default ServiceAccount is there; deleted in the background."""
    name = f"test-{time.monotonic_ns():x}"
    cluster.kubectl("create", "namespace", name)
    cluster.kubectl("wait", "-n", name, "--for=create", "serviceaccount/default", "--timeout=30s")
    yield name
    cluster.kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture(scope="session")
def helm() -> Path:
    """Path of the pinned helm."""
    return helm_binary()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add pods, events and log tails to the report of a failed test."""
    report = yield
    fixtures = getattr(item, "funcargs", {})
    if report.failed:
        for name in ("cluster", "api_cluster"):
            if isinstance(fixtures.get(name), Cluster):
                report.sections.append((f"{name} at the failure", fixtures[name].report()))
    return report
