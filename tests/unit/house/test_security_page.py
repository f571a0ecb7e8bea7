"""The table of attacks names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/reference/security.md").read_text()
DEFAULT = "tests/contract/gateway/test_security.py"


def test_every_attack_names_tests_that_exist() -> None:
    rows = re.findall(r"^\| (?!attack|---)(.+) \|$", PAGE, re.MULTILINE)
    assert len(rows) > 12
    for row in rows:
        named = re.findall(r"`(?:(tests/[\w/]+\.py)::)?(test_\w+)`", row)
        assert named, row
        for file, test in named:
            assert f"def {test}(" in (ROOT / (file or DEFAULT)).read_text(), test


def test_every_test_of_attacks_is_in_the_table() -> None:
    tests = set(re.findall(r"def (test_\w+)\(", (ROOT / DEFAULT).read_text()))
    beside = {"test_health_needs_no_key", "test_a_key_that_is_added_or_taken_away_counts_soon"}
    assert tests - beside == {test for test in tests if f"`{test}`" in PAGE}


def test_every_reason_is_documented() -> None:
    from lgos_gateway.errors import Reason

    page = (ROOT / "docs/reference/gateway.md").read_text()
    [row] = [line for line in page.splitlines() if "lgos_gateway_refused_total" in line]
    assert set(re.findall(r"`(\w+)`", row)) >= set(Reason)
