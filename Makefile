# Everything runs inside .venv; python3, make and pip are all a bare machine needs.
PYTHON ?= python3
TORCH ?= torch==2.13.0
JOBS ?= 2
BIN := .venv/bin
STAMP := .venv/.ready

.PHONY: help setup demo test portable lint types bench docs dist clean clean-kernels

help:
	@echo "make demo   set up, then train GPNN beside GIN on the embedded molecules, draw, explain"
	@echo "make test   set up, lint, check types, run the tests"
	@echo "make portable  the tests of network and training with the processor's plainest instructions"
	@echo "make setup  build .venv only (TORCH=... picks another torch)"
	@echo "make bench  the race against other libraries (a few minutes)"
	@echo "make dist   wheel and source archive, into dist"
	@echo "make docs   the documentation site, into docs/_build/html"

setup: $(STAMP)

# torch goes first, so that nothing below can pull another build of it.
$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet "$(TORCH)"
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[mol,bench,dev,e2e,docs]"
	@touch $(STAMP)

demo: setup
	$(BIN)/gpnn demo

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup
	$(BIN)/mypy

test: lint types
	$(BIN)/pytest -n $(JOBS)

# Results must not depend on the processor: torch without its AVX kernels stands for another one.
portable: setup
	ATEN_CPU_CAPABILITY=default $(BIN)/pytest -n $(JOBS) tests/nn tests/train

bench: setup
	$(BIN)/gpnn bench partition

docs: setup
	$(BIN)/sphinx-build -q -W --keep-going -b html -d docs/_build/doctrees docs docs/_build/html

dist: setup
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist .

clean: clean-kernels
	rm -rf .venv demo docs/_build

# numba does not notice a change in another module that a kernel calls.
clean-kernels:
	find src -name '*.nb[ci]' -delete
