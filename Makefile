# Everything runs inside .venv; python3, make and pip are all a bare machine needs.
PYTHON ?= python3
TORCH ?= torch==2.13.0
JOBS ?= 2
BIN := .venv/bin
STAMP := .venv/.ready

.PHONY: help setup demo test lint types bench clean clean-kernels

help:
	@echo "make demo   set up, then train GPNN beside GIN on the embedded molecules, draw, explain"
	@echo "make test   set up, lint, check types, run the tests"
	@echo "make setup  build .venv only (TORCH=... picks another torch)"
	@echo "make bench  the race against other libraries (a few minutes)"

setup: $(STAMP)

# torch goes first, so that nothing below can pull another build of it.
$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet "$(TORCH)"
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[mol,bench,dev,e2e]"
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

bench: setup
	$(BIN)/gpnn bench partition

clean: clean-kernels
	rm -rf .venv demo

# numba does not notice a change in another module that a kernel calls.
clean-kernels:
	find src -name '*.nb[ci]' -delete
