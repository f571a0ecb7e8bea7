"""Gateway and operator start from the library's package and must not load what only the API needs."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("langgraph", "langchain_core", "fastapi", "openai")


@pytest.mark.parametrize("program", ["lgos_gateway.program", "lgos_operator.program"])
def test_a_program_of_the_platform_loads_no_langgraph_and_no_fastapi(program: str) -> None:
    code = f"""
import sys
import langgraph_openai_serve.cli.main
import {program}
print(*[name for name in {HEAVY!r} if name in sys.modules])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split() == []
