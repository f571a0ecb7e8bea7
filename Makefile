# Everything from a clone with python3 (3.11 or newer) and make: one environment, .venv, from uv.lock.
# Nothing outside this folder changes, except the caches of pip, uv and the cluster tests.

PYTHON ?= python3
PORT ?= 8000
VENV := .venv
BIN := $(VENV)/bin
# The same version as in uv.lock, so that the set-up does not replace the uv that runs it.
UV_VERSION := 0.13.9
# Its name says which lock file and which metadata the environment was made from.
STAMP := $(VENV)/.made-from-$(shell cat uv.lock pyproject.toml | cksum | tr ' ' '-')

export UV_PYTHON_DOWNLOADS := never
unexport VIRTUAL_ENV
unexport UV_PROJECT_ENVIRONMENT

.DEFAULT_GOAL := help
.PHONY: help setup demo test check cluster format generate hooks clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1|\2/p' Makefile | column -t -s '|' 2>/dev/null \
	  || sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1: \2/p' Makefile

setup: $(STAMP) ## make .venv with the locked versions (does nothing when it is up to date)

demo: $(STAMP) ## serve the example graphs on http://127.0.0.1:8000/v1; another port: make demo PORT=8123
	@exec $(BIN)/lgos dev -f examples/models --port $(PORT)

test: $(STAMP) ## every check and every test; cluster tests where a node can be started
	@$(BIN)/nox

check: $(STAMP) ## the checks without the cluster tests
	@$(BIN)/nox -s lint types imports unit contract coverage

cluster: $(STAMP) ## the cluster tests alone
	@$(BIN)/nox -s cluster

format: $(STAMP) ## format the Python files and mend what ruff can mend
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

generate: $(STAMP) ## write the generated files anew
	@$(BIN)/nox -s generate

hooks: $(STAMP) ## run the quick checks before every commit
	@$(BIN)/pre-commit install

clean: ## remove the environment, reports and caches of this folder
	rm -rf $(VENV) reports dist .nox .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

$(STAMP): uv.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "LGOS needs Python 3.11 or newer; name one with: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) \
	  || { rm -rf $(VENV); echo "$(PYTHON) cannot make a virtual environment; on Debian: apt-get install python3-venv" >&2; exit 1; }
	@test -x $(BIN)/uv || $(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	@$(BIN)/uv sync --quiet --frozen --all-extras --group dev --python $(BIN)/python
	@rm -f $(VENV)/.made-from-*
	@touch $@
