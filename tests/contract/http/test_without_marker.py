"""Text still streams where langchain-core takes no callback of ours: it comes from LangGraph's `messages` stream."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from support import judge

TESTS = Path(__file__).parents[2]


def test_text_streams_where_no_callback_gets_it_and_the_log_says_so_once() -> None:
    command = [sys.executable, "-m", "support.without_marker", "two_tokens"]
    run = subprocess.run(command, cwd=TESTS, capture_output=True, text=True, timeout=60, check=True)

    events = [json.loads(line) for line in judge.data_lines(run.stdout)]
    deltas = [event["delta"] for event in events if "delta" in event]
    ends = [
        event["response"]["status"] for event in events if event["type"] == "response.completed"
    ]
    assert deltas == ["Hel", "lo"] * 2
    assert ends == ["completed"] * 2
    assert run.stderr.count("using the messages stream") == 1
