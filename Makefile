# Everything runs in a virtual environment of its own. `make` alone lists the targets.

PYTHON ?= python3
VENV ?= .venv
PYTEST_ARGS ?= -n auto --dist worksteal
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

# Programs are compiled for the CPU everywhere here; an accelerator is neither needed nor used.
export JAX_PLATFORMS ?= cpu
# glibc fills memory that is freed: who reads an operation that was erased crashes at once, and not now and then.
export MALLOC_PERTURB_ ?= 165

.DEFAULT_GOAL := help

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(INSTALLED): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	@touch $@

.PHONY: demo
demo: $(INSTALLED) ## Rewrite a GPT-2 training step and compare it with the original
	$(BIN)/python -m examples.demo

.PHONY: test
test: $(INSTALLED) ## Run all tests
	$(BIN)/python -m pytest $(PYTEST_ARGS)

SECONDS_EACH ?= 1800
DAY := $(shell date -u +%j)

.PHONY: nightly
nightly: $(INSTALLED) ## Sweeps that are too long for every change, with a new seed each day
	$(BIN)/python -m tests.fuzz.programs --seed $(DAY) --seconds $(SECONDS_EACH)
	$(BIN)/python -m tests.fuzz.programs --nests --seed $(DAY) --seconds $(SECONDS_EACH)
	$(BIN)/python -m tests.fuzz.presets --seed $(DAY) --seconds $(SECONDS_EACH)
	$(BIN)/python -m tests.fuzz.inputs --seed $(DAY) --seconds $(SECONDS_EACH)
	$(BIN)/python -m tests.fuzz.files --seed $(DAY) --seconds $(SECONDS_EACH)
	$(BIN)/python -m tests.mutation --sample 50 --seed $(DAY) --least 0.9
	SCALIFY_PROPERTY_EXAMPLES=5000 $(BIN)/python -m pytest -n auto tests/test_properties.py tests/test_shaped_scale_properties.py
	SCALIFY_CONFORMANCE=all $(BIN)/python -m pytest tests/test_conformance.py

# What lint and docs need besides, each installed once.
$(VENV)/.lint $(VENV)/.docs: $(VENV)/.%: $(INSTALLED)
	$(BIN)/python -m pip install --quiet --editable '.[test,$*]'
	@touch $@

.PHONY: lint
lint: $(VENV)/.lint ## Check style and types
	$(BIN)/ruff check .
	$(BIN)/pyright --pythonpath $(BIN)/python

.PHONY: docs
docs: $(VENV)/.docs ## Build the documentation site in docs/_build
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build

.PHONY: dist
dist: $(INSTALLED) ## Build the wheel and the source distribution in dist
	$(BIN)/python -m pip install --quiet build
	rm -rf build dist
	$(BIN)/python -m build --outdir dist

.PHONY: clean
clean: ## Remove the virtual environment and what builds leave behind
	rm -rf $(VENV) build dist docs/_build docs/_generated docs/jupyter_execute *.egg-info demo_output
