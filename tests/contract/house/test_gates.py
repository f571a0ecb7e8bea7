"""Each check refuses what it is there for: a violation planted into a copy of the repository is found."""

from __future__ import annotations

import shutil
import subprocess
import textwrap
from pathlib import Path

import pytest

from house.files import ROOT, tracked
from house.serving import BIN, environment

COPIED = ("server", "operator", "pyproject.toml")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs and their configuration, without anything that is not tracked."""
    target = tmp_path_factory.mktemp("copy")
    for path in tracked():
        inside = path.relative_to(ROOT)
        if inside.parts[0] in COPIED:
            (target / inside).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, target / inside)
    return target


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [BIN / command[0], *command[1:]],
        cwd=folder,
        env=environment(PYTHONPATH=f"{folder}/server:{folder}/operator"),
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip


class Planted:
    """A file that exists for one check only."""

    def __init__(self, path: Path, text: str) -> None:
        self.path, self.text = path, text

    def __enter__(self) -> None:
        self.before = self.path.read_text() if self.path.exists() else None
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text((self.before or "") + textwrap.dedent(self.text))

    def __exit__(self, *exc_info: object) -> None:
        if self.before is None:
            self.path.unlink()
        else:
            self.path.write_text(self.before)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('"""A module."""\n\nimport os\n', "F401"),
        ('"""A module."""\n\nprint(1)\n', "T201"),
        ('"""A module."""\n\ntry:\n    X = 1\nexcept Exception:\n    pass\n', "BLE001"),
        ("X = 1\n", "D100"),
    ],
)
def test_ruff_refuses(copy: Path, text: str, code: str) -> None:
    with Planted(copy / "server/lgos_contract/planted.py", text):
        result = run(copy, "ruff", "check", "--no-cache", "server/lgos_contract")
    assert result.returncode == 1
    assert code in result.stdout


def test_ruff_format_refuses_another_format(copy: Path) -> None:
    with Planted(copy / "server/lgos_contract/planted.py", "X = {'a':1}\n"):
        result = run(copy, "ruff", "format", "--check", "--no-cache", "server/lgos_contract")
    assert result.returncode == 1


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("X: int = 'one'\n", "assignment"),
        ("def f(x):\n    return x\n", "no-untyped-def"),
        ("X: list = []\n", "type-arg"),
    ],
)
def test_mypy_refuses(copy: Path, text: str, code: str) -> None:
    with Planted(copy / "server/lgos_contract/planted.py", text):
        result = run(copy, "mypy", "-m", "lgos_contract.planted")
    assert result.returncode == 1
    assert f"[{code}]" in result.stdout


@pytest.mark.parametrize(
    ("path", "text", "contract"),
    [
        (
            "server/langgraph_openai_serve/run/planted.py",
            "import langgraph_openai_serve.web.server\n",
            "Server rooms",
        ),
        ("server/langgraph_openai_serve/planted/__init__.py", "", "an undeclared room fails"),
        ("operator/lgos_operator/planted.py", "", "an undeclared room fails"),
        ("server/lgos_gateway/planted.py", "", "an undeclared room fails"),
        (
            "operator/lgos_operator/settings.py",
            "import langgraph_openai_serve\n",
            "The programs never import each other",
        ),
        (
            "server/langgraph_openai_serve/protocols/chat/planted.py",
            "import langgraph_openai_serve.protocols.responses.encode\n",
            "Chat and Responses do not know each other",
        ),
        (
            "server/langgraph_openai_serve/web/planted.py",
            "import lgos_contract.registry\n",
            "The contract is read by composition roots",
        ),
        ("server/langgraph_openai_serve/run/planted.py", "import fastapi\n", "no web framework"),
        ("server/langgraph_openai_serve/wire/planted.py", "import openai\n", "OpenAI SDK"),
        (
            "server/langgraph_openai_serve/web/planted.py",
            "import prometheus_client\n",
            "one integration module",
        ),
    ],
)
def test_import_linter_refuses(copy: Path, path: str, text: str, contract: str) -> None:
    with Planted(copy / path, text):
        result = run(copy, "lint-imports", "--no-cache")
    assert result.returncode == 1, result.stdout + result.stderr
    broken = [line for line in result.stdout.splitlines() if " BROKEN" in line]
    assert any(contract in line for line in broken), result.stdout


def test_coverage_floor_refuses_a_branch_that_no_test_sees(tmp_path: Path) -> None:
    source = tmp_path / "half.py"
    source.write_text("import sys\n\nif len(sys.argv) > 5:\n    print('unseen')\n")
    assert run(tmp_path, "coverage", "run", "--branch", "half.py").returncode == 0
    report = ("coverage", "report", "--precision=2", "--include=half.py")
    assert run(tmp_path, *report, "--fail-under=60").returncode == 0
    assert run(tmp_path, *report, "--fail-under=100").returncode == 2
