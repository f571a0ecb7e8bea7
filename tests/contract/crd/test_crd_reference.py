"""The reference pages say what the CRD and the operator say."""

from __future__ import annotations

import runpy
from pathlib import Path

from lgos_operator.status import ConditionType

SCRIPT = Path(__file__).parent / "crd_reference.py"
CONDITIONS = Path(__file__).parents[3] / "docs" / "reference" / "conditions.md"


def test_the_crd_page_is_the_generated_one() -> None:
    script = runpy.run_path(str(SCRIPT))
    assert script["PAGE"].read_text() == script["page"](), f"run python {SCRIPT.name}"


def test_every_condition_has_its_row() -> None:
    text = CONDITIONS.read_text()
    for kind in ConditionType:
        assert f"| `{kind}` |" in text
