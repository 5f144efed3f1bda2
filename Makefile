# Arbor: `make demo` and `make test` do everything on a fresh machine.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test check format bench-engine bench-search clean

$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[engine,search,dev]'
	touch $(STAMP)

demo: $(STAMP)
	$(BIN)/arbor run --dir runs/demo --budget 5m --fresh

test: $(STAMP)
	$(BIN)/python -m pytest

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy arbor tests
	$(BIN)/lint-imports

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench-engine: $(STAMP)
	$(BIN)/python -m pip install --quiet 'transformers>=4.55'
	$(BIN)/python benchmarks/engine_vs_transformers.py

clean:
	rm -rf runs .mypy_cache .ruff_cache .pytest_cache .hypothesis
