"""`python -m lgos_operator` is `lgos operator`."""

from lgos_operator.program import run

if __name__ == "__main__":
    raise SystemExit(run())
