# Arbor: `make demo` and `make test` do everything on a fresh machine.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
BUDGET ?= 5m

.PHONY: demo test check format bench bench-engine bench-trust bench-engine-trust bench-best clean

# An installed torch (a ROCm or CUDA container) is seen and kept.
$(VENV)/.made:
	$(PYTHON) -c "import torch" 2>/dev/null \
		&& $(PYTHON) -m venv --system-site-packages $(VENV) \
		|| $(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/.run: pyproject.toml $(VENV)/.made
	$(PIP) -e '.[engine,search]'
	touch $@

$(VENV)/.dev: $(VENV)/.run
	$(PIP) -e '.[engine,search,kernels,dev]'
	touch $@

demo: $(VENV)/.run
	$(BIN)/arbor run --dir runs/demo --budget $(BUDGET) --fresh

test: $(VENV)/.dev
	$(BIN)/python -m pytest

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy arbor tests
	$(BIN)/lint-imports

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Every benchmark prints one table and writes benchmarks/results/<name>.json.
bench:
	@grep -E '^bench-[a-z-]+:.*##' Makefile | sed -E 's/^([a-z-]+):.*## */make \1  /'

bench-engine: $(VENV)/.dev  ## the embedded engine beside Hugging Face transformers
	$(PIP) 'transformers>=4.55'
	$(BIN)/python benchmarks/engine_vs_transformers.py

bench-trust: $(VENV)/.dev  ## false keeps, power, coverage and time on simulated campaigns
	$(BIN)/python benchmarks/trust.py

bench-engine-trust: $(VENV)/.dev  ## A/A campaigns and rechecked claims on the real engine; hours
	$(BIN)/python benchmarks/engine_trust.py --placebo --budget 2m
	$(BIN)/python benchmarks/engine_trust.py
	$(BIN)/python benchmarks/engine_trust.py --burn

bench-best: $(VENV)/.dev  ## the best stack by a long offline search, to compare campaigns with
	$(BIN)/python benchmarks/engine_best_stack.py

bench-kernels: $(VENV)/.dev  ## Triton operators on an accelerator: check, tune, time; resumable
	$(BIN)/python benchmarks/kernels_gpu.py --state runs/kernels_gpu

clean:
	rm -rf runs .mypy_cache .ruff_cache .pytest_cache .hypothesis
