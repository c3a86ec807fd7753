# Two commands do everything on a machine that has Python 3.11 or newer: `make run` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
ARGS ?= serve
LIBRARIES := src/copilog/web/static/vendor/made-from.txt

.PHONY: run test soak coverage site dist check format lock bench docs screenshots conformance judge imports writers-diff libraries clean

run: $(VENV)/.run-ready  ## show this machine's conversations (or the bundled sample) in the browser; ARGS="..." for anything else
	@$(BIN)/copilog $(ARGS)

test: check  ## all checks and all tests
	$(BIN)/python -m pytest -n auto

soak: $(VENV)/.test-ready  ## the random tests in large numbers, from a printed seed; TIMES=10 SEED=...
	$(BIN)/python -m tests.soak $(if $(TIMES),--times $(TIMES)) $(if $(SEED),--seed $(SEED))

coverage: $(VENV)/.test-ready  ## all tests, and the lines that none of them runs, in build/coverage
	$(BIN)/python -m pytest -n auto --cov --cov-report=term --cov-report=html

site: $(VENV)/.test-ready  ## the documentation as a website, in build/site
	$(BIN)/python -m tests.docs_site

dist: $(VENV)/.run-ready  ## the wheel and the source distribution, in dist; fails without the browser libraries
	COPILOG_NEED_LIBRARIES=1 $(BIN)/python -m hatchling build

check: $(VENV)/.test-ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(VENV)/.test-ready
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(VENV)/.test-ready  ## write docs/cli.md anew
	$(BIN)/python -m tests.cli_reference

screenshots: $(VENV)/.test-ready  ## take the pictures of docs/images anew (needs Chromium)
	$(BIN)/python -m tests.web.screenshots

conformance: ARGS = --program all --version all
conformance: $(VENV)/.test-ready  ## run all versions of real programs, and compare what they write with what copilog reads; ARGS="..."
	$(BIN)/python -m conformance run $(ARGS)

judge: ARGS = --version all --table
judge: $(VENV)/.test-ready  ## let two versions of VS Code import, list, open and export again what copilog exports; ARGS="..."
	$(BIN)/python -m conformance judge $(ARGS)

imports: ARGS =
imports: $(VENV)/.test-ready  ## let the Copilot CLI import and resume what copilog exports for it; ARGS="FOLDER..."
	$(BIN)/python -m conformance imports $(ARGS)

writers-diff: $(VENV)/.test-ready  ## print what a version of Copilot CLI added to its events and took away; VERSION=1.0.102
	$(BIN)/python -m conformance writers-diff $(VERSION)

bench: $(VENV)/.test-ready  ## print the ratios
	$(BIN)/python -m benchmarks.bench_read
	$(BIN)/python -m benchmarks.bench_extract

libraries: $(VENV)/.run-ready  ## fetch the browser libraries again, where that failed during the installation
	$(BIN)/python hatch_build.py

lock:  ## pin again what pyproject.toml asks for (needs uv)
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate \
		--no-header --group build pyproject.toml -o requirements/run.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate \
		--no-header --group build --group dev pyproject.toml -o requirements/dev.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate \
		--no-header --group pyproject.toml:node -o requirements/node.txt

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(v < (3, 11) and "$(PYTHON) is Python %d.%d, and copilog needs 3.11 or newer: make PYTHON=python3.x" % v[:2] or 0)'
	@echo "copilog: creating $(VENV) ($$($(PYTHON) --version)) ..." >&2
	@$(PYTHON) -m venv $(VENV)
	@touch $@

# The build fetches the browser libraries through npm; where there is none, it comes from PyPI.
$(VENV)/.run-ready: $(VENV)/.made requirements/run.txt requirements/node.txt pyproject.toml hatch_build.py assets/package-lock.json
	@echo "copilog: installing $$(grep -c == requirements/run.txt) Python packages into $(VENV) ..." >&2
	@$(PIP) install --require-hashes -r requirements/run.txt
	@command -v npm >/dev/null || { echo "copilog: installing npm from PyPI into $(VENV) ..." >&2; $(PIP) install --require-hashes -r requirements/node.txt; } \
		|| echo "copilog: npm could not be installed" >&2
	@test -f $(LIBRARIES) || echo "copilog: fetching the browser libraries with npm ..." >&2
	@$(PIP) install --no-deps --no-build-isolation -e .
	@test -f $(LIBRARIES) || echo "copilog: warning: the browser libraries could not be fetched, so the viewer draws no charts; \`$(BIN)/copilog doctor\` says how to get them" >&2
	@touch $@

$(VENV)/.test-ready: $(VENV)/.run-ready requirements/dev.txt
	@echo "copilog: installing the packages that tests need into $(VENV) ..." >&2
	@$(PIP) install --require-hashes -r requirements/dev.txt
	@touch $@

clean:
	rm -rf $(VENV) dist build .mypy_cache .pytest_cache .ruff_cache .hypothesis
