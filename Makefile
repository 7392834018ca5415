# Everything runs inside .venv; python3, make and pip are all a bare machine needs.
PYTHON ?= python3
TORCH ?= torch==2.13.0
JOBS ?= 2
BIN := .venv/bin
STAMP := .venv/.ready
TRITON := .venv/triton

.PHONY: help setup demo test interpret portable lint types bench docs dist clean clean-kernels

help:
	@echo "make demo   set up, then train GPNN beside GIN on the embedded molecules, draw, explain"
	@echo "make test   set up, lint, check types, run the tests"
	@echo "make interpret  the tests of the CUDA kernels without a GPU, in Triton's interpreter"
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

test: lint types interpret
	$(BIN)/pytest -n $(JOBS)

# The CUDA kernels, run by Triton's interpreter on the CPU. Triton is kept apart: nothing else needs it.
interpret: setup
	@test -d $(TRITON) || $(BIN)/pip install --quiet --no-deps --target $(TRITON) triton==3.9.0 || \
		echo "Triton cannot be installed here: the CUDA kernels are not tested."
	@test ! -d $(TRITON) || PYTHONPATH=$(TRITON) TRITON_INTERPRET=1 \
		$(BIN)/pytest -q -n $(JOBS) tests/nn/kernels/cuda

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
