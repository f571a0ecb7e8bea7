"""Every check of the project as a nox session: `nox` runs them all, `nox -s unit` one of them.

All sessions run in the one project environment, `.venv`, that `make setup` fills from uv.lock; CONTRIBUTING.md says
why. Each session is a few plain commands, printed as they run, that also work typed by hand.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import nox

ROOT = Path(__file__).parent
BIN = ROOT / ".venv" / "bin"
REPORTS = ROOT / "reports"
COVERAGE = Path("reports/coverage")
FLOOR = 95
COMPLETE = (
    "*/langgraph_openai_serve/run/*",
    "*/langgraph_openai_serve/protocols/*",
    "*/lgos_operator/desired/*",
    "*/lgos_operator/checks.py",
)
"""Pure rooms where every branch must be seen by a test."""

if not (BIN / "python").exists():
    sys.exit("There is no .venv yet: run `make setup` first.")
os.environ["PATH"] = f"{BIN}{os.pathsep}{os.environ['PATH']}"

nox.needs_version = ">=2025.5"
nox.options.default_venv_backend = "none"
nox.options.sessions = ["lint", "types", "imports", "unit", "contract", "coverage", "cluster"]


@nox.session
def lint(session: nox.Session) -> None:
    """Ruff's rules and format; whitespace, YAML, TOML and JSON of all tracked files."""
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("python", "tests/house/files.py")


@nox.session
def types(session: nox.Session) -> None:
    """Mypy, strict, over the packages."""
    session.run("mypy")


@nox.session
def imports(session: nox.Session) -> None:
    """The dependency rule between rooms and programs."""
    session.run("lint-imports", "--no-cache")


def measured(session: nox.Session, tier: str) -> None:
    """Run a tier of tests under branch coverage, subprocesses included."""
    data = COVERAGE / tier
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir(parents=True)
    session.run(
        "coverage", "run", f"--data-file={data}/data", "-m", "pytest", f"tests/{tier}",
        f"--junitxml=reports/{tier}.xml", *session.posargs,
    )  # fmt: skip


@nox.session
def unit(session: nox.Session) -> None:
    """Tests that need nothing running."""
    measured(session, "unit")


@nox.session
def contract(session: nox.Session) -> None:
    """Tests of what outsiders rely on: real processes, the OpenAI SDK, helm template."""
    measured(session, "contract")


@nox.session
def coverage(session: nox.Session) -> None:
    """Compare the branch coverage of the last unit and contract sessions with the floors."""
    # Named as the parts are, since coverage looks in folders for files of that name.
    total = f"--data-file={COVERAGE}/data"
    parts = [f"{COVERAGE}/unit", f"{COVERAGE}/contract"]
    if missing := [part for part in parts if not Path(part).exists()]:
        session.error(f"there is no {missing[0]}: run `nox -s unit contract coverage`")
    session.run("coverage", "combine", "--quiet", "--keep", total, *parts)
    session.run("coverage", "report", total, "--precision=2", f"--fail-under={FLOOR}")
    session.run(
        "coverage", "report", total, "--precision=2", "--fail-under=100",
        f"--include={','.join(COMPLETE)}",
    )  # fmt: skip


@nox.session
def cluster(session: nox.Session) -> None:
    """Tests on a real Kubernetes node; a missing part skips by name, or fails with LGOS_REQUIRE_CLUSTER=1."""
    session.run(
        "pytest",
        "tests/cluster",
        "--junitxml=reports/cluster.xml",
        *session.posargs,
    )


@nox.session
def endurance(session: nox.Session) -> None:
    """The long forms of tests: minutes of steady state."""
    session.run(
        "pytest", "tests", "-m", "endurance", "--junitxml=reports/endurance.xml", *session.posargs
    )


@nox.session
def bench(session: nox.Session) -> None:
    """LGOS against its floor, as ratios of CPU time; wants a quiet machine."""
    session.run("python", "benchmarks/run.py", *session.posargs)


@nox.session
def docs(session: nox.Session) -> None:
    """Links, snippets and commands of the documentation."""
    session.run(
        "pytest",
        "tests/unit/house",
        "tests/contract/house",
        "-k",
        "docs or readme",
        *session.posargs,
    )


@nox.session
def generate(session: nox.Session) -> None:
    """Write the generated files anew; the unit and contract sessions compare them."""
    session.run("python", "tests/house/snippets.py", "--write")
    session.run("python", "tests/house/chart_crd.py", "--write")
    session.run("python", "tests/house/values_reference.py", "--write")
