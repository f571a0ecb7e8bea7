"""Event streams byte for byte, and what the oldest and the newest supported `openai` package think of them.

`PYTHONPATH=tests .venv/bin/python -m support.transcripts` writes the transcripts anew after a wanted change.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import openai
import pytest

from support import judge
from support.transcripts import FOLDER, names, record

ROOT = Path(__file__).parents[3]
UNKNOWN_TO_NEWEST = {
    "ChoiceDelta.annotations",  # the one extension: Chat's delta has no place for citations
    # Required by the Open Responses schema; OpenAI's own answers carry them too.
    "Response.frequency_penalty",
    "Response.presence_penalty",
    "Response.store",
    # Required by the types of openai 2; later ones dropped it.
    "ResponseFunctionCallArgumentsDoneEvent.name",
}
UNKNOWN_TO_OLDEST = {
    "ChoiceDelta.annotations",
    "InputTokensDetails.cache_write_tokens",  # required by the types of openai 3
    "Response.frequency_penalty",
    "Response.presence_penalty",
    "Response.store",
}


@pytest.mark.parametrize("name", names())
async def test_stream_equals_its_transcript(name: str) -> None:
    assert (await record(name)).decode() == (FOLDER / f"{name}.sse").read_text()


def test_every_transcript_is_of_a_known_request() -> None:
    assert sorted(path.stem for path in FOLDER.iterdir()) == sorted(names())


@pytest.mark.parametrize("name", names())
def test_newest_package_takes_the_transcript_strictly(name: str) -> None:
    problems, unknown = judge.judge((FOLDER / f"{name}.sse").read_text())

    assert problems == []
    assert unknown <= UNKNOWN_TO_NEWEST


def test_oldest_package_takes_all_transcripts_strictly() -> None:
    verdict = _judged_by(oldest_supported())

    assert verdict["problems"] == {}
    assert set(verdict["unknown"]) <= UNKNOWN_TO_OLDEST


def test_judge_finds_a_broken_stream() -> None:
    text = (FOLDER / "responses-text.sse").read_text()

    assert judge.judge(text.replace('"delta":"lo"', '"delta":"la"'))[0]
    assert judge.judge(text.replace('"output_index":0,', ""))[0]
    assert judge.judge(text.replace('"phase"', '"phrase"'))[1] >= {"ResponseOutputMessage.phrase"}


def oldest_supported() -> str:
    """The lower bound of the range that pyproject.toml declares."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    [spec] = [s for s in groups["test"] if isinstance(s, str) and re.match(r"openai[<>=]", s)]
    found = re.search(r">=([0-9.]+)", spec)
    assert found
    version = found[1] + ".0" * (2 - found[1].count("."))
    assert version.split(".")[0] < openai.__version__.split(".")[0]
    return version


def _judged_by(version: str) -> dict[str, Any]:
    files = sorted(map(str, FOLDER.glob("*.sse")))
    uv = shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if uv is None:
        _missing("uv, which makes the environment of the oldest openai package")
    base = [uv, "run", "--quiet", "--isolated", "--no-project"]
    base += ["--python", sys.executable, "--with", f"openai=={version}", "python"]
    # The packages of this process must not shadow the ones of the other environment.
    env = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    made = subprocess.run([*base, "-c", "import openai"], env=env, capture_output=True, text=True)
    if made.returncode != 0:
        _missing(f"openai {version} in an environment of its own: {made.stderr[-300:]}")
    run = subprocess.run(
        [*base, str(ROOT / "tests/support/judge.py"), *files],
        env=env, capture_output=True, text=True,
    )  # fmt: skip
    assert run.stdout, run.stderr
    verdict: dict[str, Any] = json.loads(run.stdout)
    assert verdict["openai"] == version
    return verdict


def _missing(what: str) -> Any:
    if os.environ.get("CI") == "true":
        pytest.fail(f"missing: {what}")
    pytest.skip(f"missing: {what}")
