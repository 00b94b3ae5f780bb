# make setup | demo | test | lint | fuzz | bench | figures | docs | wheel | clean
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
FIGURES := fig1 fig3 fig4 fig5 theorem

.PHONY: setup demo test lint fuzz bench figures docs wheel clean

setup: $(READY)

# torch first and pinned, so that nothing after it can install another build. Needs no compiler.
$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --editable ".[dev]"
	@touch $@
	@echo "ready: $(BIN)/wherein --help"

demo: setup
	$(BIN)/wherein demo --overwrite

test: setup
	$(BIN)/python -m pytest -n 2 --dist worksteal

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# 10,000 mutated inputs of each kind, which takes about ten minutes; FUZZ="--seconds 60" for less.
fuzz: setup
	$(BIN)/python -m tools.fuzz $(FUZZ)

bench: setup
	$(BIN)/python -m benchmarks

# A figure that was interrupted is continued; one that exists is kept.
figures: setup
	for figure in $(FIGURES); do \
	  test -e figures/$$figure.json || $(BIN)/wherein reproduce $$figure || exit; \
	done

docs: setup
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build
	@echo "read docs/_build/index.html"

# Build the wheel, with its C kernel, and try it in a fresh environment: takes minutes, and a gigabyte on disk.
wheel: setup
	$(BIN)/python .ci/wheel.py

clean:
	rm -rf $(VENV) build dist docs/_build .mypy_cache .pytest_cache .ruff_cache .hypothesis
