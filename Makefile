# Two commands do everything on a machine that has Python 3.11 or newer: `make run` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
ARGS ?=

.PHONY: run test check format lock bench docs clean

run: $(VENV)/.run-ready  ## read this machine (or the bundled sample)
	@$(BIN)/copilog $(ARGS)

test: check  ## all checks and all tests
	$(BIN)/python -m pytest -n auto

check: $(VENV)/.test-ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(VENV)/.test-ready
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(VENV)/.test-ready  ## write docs/cli.md anew
	$(BIN)/python -m tests.cli_reference

bench: $(VENV)/.test-ready  ## print the ratios
	$(BIN)/python -m benchmarks.bench_read
	$(BIN)/python -m benchmarks.bench_extract

lock:  ## pin again what pyproject.toml asks for (needs uv)
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate \
		--no-header --group build pyproject.toml -o requirements/run.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate \
		--no-header --group build --group dev pyproject.toml -o requirements/dev.txt

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "copilog needs Python 3.11 or newer; set PYTHON=python3.x")'
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.run-ready: $(VENV)/.made requirements/run.txt pyproject.toml
	@echo "setting up $(VENV) ..." >&2
	@$(PIP) install --require-hashes -r requirements/run.txt
	@$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.test-ready: $(VENV)/.run-ready requirements/dev.txt
	@$(PIP) install --require-hashes -r requirements/dev.txt
	@touch $@

clean:
	rm -rf $(VENV) dist build .mypy_cache .pytest_cache .ruff_cache .hypothesis
