"""Sum the JUnit reports of all pytest sessions into one line: `N passed, N failed, N skipped`.

    python tests/house/summary.py reports

Errors count as failures. The exit code is 1 when a test failed, when a report cannot be read or when there is none.
Runs with the machine's own python3, so that the line comes even when the set-up failed.
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Sums:
    """Counts of test cases."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def read(report: Path) -> Sums:
    """The counts of one report; one that cannot be read counts as one failure."""
    try:
        suites = list(ET.parse(report).getroot().iter("testsuite"))  # noqa: S314 - pytest wrote it
        total, failed, skipped = (
            sum(sum(int(suite.get(name, "0")) for name in names) for suite in suites)
            for names in (("tests",), ("failures", "errors"), ("skipped",))
        )
    except (ET.ParseError, ValueError) as error:
        print(f"{report}: {error}", file=sys.stderr)
        return Sums(failed=1)
    return Sums(total - failed - skipped, failed, skipped)


def main(folder: str) -> int:
    """Print a line for each report and the sum; return the exit code."""
    sums = Sums()
    reports = sorted(Path(folder).glob("*.xml"))
    for report in reports:
        one = read(report)
        print(f"{report.stem}: {one}")
        sums.passed += one.passed
        sums.failed += one.failed
        sums.skipped += one.skipped
    print(sums)
    return int(bool(sums.failed) or not reports)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:] or ["reports"]))
