# Arbor: `make demo` and `make test` do everything on a fresh machine.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
BUDGET ?= 5m
VLLM_BUDGET ?= 20m

.PHONY: demo vllm demo-vllm test test-vllm check format bench bench-engine bench-trust bench-engine-trust bench-rca bench-best bench-search bench-replay bench-log bench-kernels chaos clean

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

# vLLM for processors in an environment of its own, a small model and its eight-bit twin.
vllm: $(VENV)/.run
	$(BIN)/python benchmarks/vllm_cpu/environment.py .venv-vllm
	.venv-vllm/bin/python -m benchmarks.models models/llama-35m --int8 models/llama-35m-int8

demo-vllm: vllm
	$(BIN)/arbor run campaigns/vllm_cpu.yaml --dir runs/demo-vllm --budget $(VLLM_BUDGET) --fresh

test: $(VENV)/.dev
	$(BIN)/python -m pytest

test-vllm: $(VENV)/.dev vllm
	$(BIN)/python -m pytest -m vllm

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
	$(BIN)/python benchmarks/engine_trust.py --placebo
	$(BIN)/python benchmarks/engine_trust.py
	$(BIN)/python benchmarks/engine_trust.py --burn

bench-rca: $(VENV)/.dev  ## root causes of public failures: blame, groups, an open and a sealed half
	$(BIN)/python benchmarks/rca.py

bench-best: $(VENV)/.dev  ## the best stack by a long offline search, to compare campaigns with
	$(BIN)/python benchmarks/engine_best_stack.py

bench-replay: $(VENV)/.dev  ## a log of a million events as SQL tables, and one event later
	$(BIN)/python benchmarks/replay_speed.py

bench-log: $(VENV)/.dev  ## the event log beside the disk's floor, SQLite, eventsourcing and Delta Lake
	$(PIP) -e '.[bench]'
	$(BIN)/python benchmarks/log.py

bench-search: $(VENV)/.dev  ## starts to 95 % of the best known stack: the tree, TPE, NGOpt, CMA-ES, greedy
	$(BIN)/python benchmarks/search.py

chaos: $(VENV)/.dev  ## 500 SIGKILLs, paused writers, torn files, flipped bits, full disks
	$(BIN)/python benchmarks/chaos.py

bench-kernels: $(VENV)/.dev  ## Triton operators on an accelerator: check, tune, time; resumable
	$(BIN)/python benchmarks/kernels_gpu.py --state runs/kernels_gpu

clean:
	rm -rf runs .mypy_cache .ruff_cache .pytest_cache .hypothesis
