"""A namespace on a real API server with the CRD, and operator processes that watch it.

Needs the session fixture `kubeconfig_api`: the path of an administrator's kubeconfig. No node is needed; where there is
one, the pods ask for more than it has, so that only the test moves them.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
import yaml

from lgos_kube.client import KubeClient
from lgos_kube.config import KubeConfig, load_config
from lgos_kube.errors import KubeError
from operator_kit.live_api import LiveApi, eventually
from operator_kit.process import OperatorProcess

ROOT = Path(__file__).parents[3]
CRD = ROOT / "crds" / "langgraphmodels.lgos.dev.yaml"
StartOperator = Callable[..., OperatorProcess]


@pytest.fixture(scope="session")
def config(kubeconfig_api: Path) -> KubeConfig:
    """Return the API server, with the CRD installed."""
    found = load_config(Path(kubeconfig_api))
    asyncio.run(_install_crd(found))
    return found


async def _install_crd(config: KubeConfig) -> None:
    crd = yaml.safe_load(CRD.read_text())
    path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{crd['metadata']['name']}"
    async with KubeClient(config, user_agent="test") as client:
        await client.apply(path, crd, field_manager="test")

        async def served() -> bool | None:
            try:
                await client.list("/apis/lgos.dev/v1alpha1/langgraphmodels")
            except KubeError:
                return None
            return True

        await eventually(served, within=30)


@pytest.fixture
async def api(config: KubeConfig) -> AsyncIterator[LiveApi]:
    """Give each test a namespace of its own."""
    async with KubeClient(config, user_agent="test") as client:
        name = f"op-{uuid.uuid4().hex[:10]}"
        await client.request("POST", "/api/v1/namespaces", body={"metadata": {"name": name}})
        found = LiveApi(client, name)

        async def populated() -> bool | None:
            return (await found.get("ServiceAccount", "default")) is not None or None

        await eventually(populated, within=30)
        try:
            yield found
        finally:
            await client.request("DELETE", f"/api/v1/namespaces/{name}")


@pytest.fixture
def start_operator(kubeconfig_api: Path, api: LiveApi, tmp_path: Path) -> Iterator[StartOperator]:
    """Make operator processes for the test's namespace; what is left of them is killed at the end."""
    made: list[OperatorProcess] = []

    def make(kubeconfig: Path | None = None, **environ: str) -> OperatorProcess:
        folder = tmp_path / f"operator-{len(made)}"
        folder.mkdir()
        watched = {"LGOS_WATCH_NAMESPACES": api.namespace} | environ
        process = OperatorProcess(kubeconfig or Path(kubeconfig_api), folder, **watched)
        made.append(process)
        return process

    yield make
    for process in made:
        process.kill()


@pytest.fixture
async def running(start_operator: StartOperator) -> OperatorProcess:
    """An operator that watches the test's namespace and is ready."""
    process = start_operator()
    await process.start()
    return process
