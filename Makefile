# make setup | demo | test | lint | bench | figures | docs | wheel | clean
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
FIGURES := fig1 fig3 fig4 fig5 theorem

.PHONY: setup demo test lint bench figures docs wheel clean

setup: $(READY)

# torch first and pinned, so that nothing after it can pull in another build.
$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --editable ".[dev]"
	@touch $@
	@echo "ready: $(BIN)/wherein --help"

demo: setup
	$(BIN)/wherein demo --overwrite

test: setup
	$(BIN)/python -m pytest -n 2

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: setup
	$(BIN)/python -m benchmarks

# One that was stopped goes on where it was; one that is there is left alone.
figures: setup
	for figure in $(FIGURES); do \
	  test -e figures/$$figure.json || $(BIN)/wherein reproduce $$figure || exit; \
	done

docs: setup
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build
	@echo "read docs/_build/index.html"

# The wheel as others get it, alone in a fresh environment: takes minutes, and a gigabyte while it runs.
wheel: setup
	$(BIN)/python .ci/wheel.py

clean:
	rm -rf $(VENV) build dist docs/_build .mypy_cache .pytest_cache .ruff_cache .hypothesis
