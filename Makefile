# Everything runs inside .venv; python3, make and pip are all a bare machine needs.
PYTHON ?= python3
TORCH ?= torch==2.13.0
JOBS ?= 2
BIN := .venv/bin
STAMP := .venv/.ready
TRITON := .venv/triton
COVERAGE := .venv/coverage
AUDIT := .venv/audit
COUNT ?= 20000
SEED ?= 1
KILLS ?= 100

.PHONY: help setup demo test interpret portable lint types bench docs dist clean clean-kernels \
	fuzz faults coverage sbom audit

help:
	@echo "make demo   set up, then train GPNN beside GIN on the embedded molecules, draw, explain"
	@echo "make test   set up, lint, check types, run the tests"
	@echo "make interpret  the tests of the CUDA kernels without a GPU, in Triton's interpreter"
	@echo "make portable  the tests of network and training with the processor's plainest instructions"
	@echo "make setup  build .venv only (TORCH=... picks another torch)"
	@echo "make bench  the race against other libraries (a few minutes)"
	@echo "make dist   wheel and source archive, into dist"
	@echo "make fuzz   odd inputs through every door: COUNT=100000 SEED=2"
	@echo "make faults every write of a training, a table and a prediction fails once; KILLS=100 kills"
	@echo "make coverage  branches of the readers, data, model files and explorer that tests take"
	@echo "make sbom   the bill of materials, CycloneDX, into sbom.json"
	@echo "make audit  known vulnerabilities of what is installed (needs a network)"
	@echo "make docs   the documentation site, into docs/_build/html"

setup: $(STAMP)

# torch goes first, so that nothing below can pull another build of it.
$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet "$(TORCH)"
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[mol,bench,dev,e2e,docs,ray]"
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

# Case NUMBER again: PYTHONPATH=tests .venv/bin/python -m fuzz.run --replay DOOR:SEED:NUMBER
fuzz: setup
	PYTHONPATH=tests $(BIN)/python -m fuzz.run --count $(COUNT) --seed $(SEED)

faults: setup
	PYTHONPATH=tests $(BIN)/python -m faults.run --kills $(KILLS) --seed $(SEED)

# Kept apart, as Triton is: nothing else needs it.
coverage: setup
	@test -d $(COVERAGE) || $(BIN)/pip install --quiet --no-deps --target $(COVERAGE) coverage==7.17.2
	COVERAGE_CORE=ctrace PYTHONPATH=$(COVERAGE):tests $(BIN)/python -m coverage run -m pytest -q \
		tests/graph/readers tests/graph/test_convert.py tests/graph/test_from_pyg.py tests/data \
		tests/train/test_model_file.py tests/train/test_checkpoint.py tests/test_sizes.py \
		tests/test_arrays.py \
		tests/test_files.py tests/test_schema.py tests/test_text.py tests/test_plugins.py \
		tests/train/test_estimators.py tests/explore/test_predict.py tests/explore/test_why.py \
		tests/explore/test_parse.py tests/explore/test_analyse.py tests/explore/test_server.py
	COVERAGE_CORE=ctrace PYTHONPATH=$(COVERAGE):tests $(BIN)/python -m coverage run --append \
		-m fuzz.run --count 3000 --here
	PYTHONPATH=$(COVERAGE) $(BIN)/python -m coverage report

sbom: setup
	$(BIN)/python tools/sbom.py sbom.json

audit: setup
	@test -d $(AUDIT) || ($(PYTHON) -m venv $(AUDIT) && $(AUDIT)/bin/pip install --quiet pip-audit==2.10.1)
	$(BIN)/pip freeze --exclude-editable | grep -v ' @ ' > $(AUDIT)/installed.txt
	$(AUDIT)/bin/pip-audit --disable-pip --no-deps -r $(AUDIT)/installed.txt

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
