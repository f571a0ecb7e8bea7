from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tools.postgres import PostgresServer, postgres_server, programs


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL server; skipped where it is not installed, which CI does not accept."""
    if programs() is None:
        if os.environ.get("CI"):
            pytest.fail("PostgreSQL is not installed")
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    with postgres_server() as started:
        yield started
