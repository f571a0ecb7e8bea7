"""Writes the chart's copy of the CRD: `python tests/house/chart_crd.py --write`; without it, says whether it is current."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "crds" / "langgraphmodels.lgos.dev.yaml"
COPY = ROOT / "charts" / "lgos" / "templates" / "crd" / "langgraphmodels.yaml"
HEAD = """\
{{- if .Values.crds.enabled }}
# Generated from crds/langgraphmodels.lgos.dev.yaml by `nox -s generate`; change that file.
"""
KEEP = """\
  {{- if .Values.crds.keep }}
  annotations:
    helm.sh/resource-policy: keep
  {{- end }}
"""


def chart_copy() -> str:
    """Return the template: the CRD behind a value, with an annotation that keeps it."""
    lines = SOURCE.read_text().splitlines(keepends=True)
    body = [line for line in lines if not line.startswith("#")]
    name = next(number for number, line in enumerate(body) if line.startswith("  name: "))
    text = "".join(body[: name + 1]) + KEEP + "".join(body[name + 1 :])
    if "{{" in text.replace(KEEP, ""):
        sys.exit(f"{SOURCE.name} holds '{{{{', which Helm would take for a template")
    return HEAD + text.rstrip("\n") + "\n{{- end }}\n"


def main() -> None:
    """Write or compare the copy."""
    if "--write" in sys.argv[1:]:
        COPY.write_text(chart_copy())
    elif COPY.read_text() != chart_copy():
        sys.exit(f"{COPY.relative_to(ROOT)} is out of date: run `nox -s generate`")


if __name__ == "__main__":
    main()
