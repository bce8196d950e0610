# make demo           set up and turn an example sample into a density
# make app            set up and start the web page: paste a sample, see its density
# make test           set up and run the tests
# make test-fast      the tests without browser, training and long statistics
# make test-versions  the tests on Python 3.12 and 3.13, where these are installed
# make lint           style and types
# make docs           build the site into build/site
# make wheel          build the wheel, count its files and try it in an empty environment
# make bench          timings against other libraries
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
SOURCES := $(shell find src -name '*.py')
VERSIONS := 3.12 3.13
# What test-fast leaves out: the browser, training, clusters, benchmarks, the command line, and comparisons with slow
# references or on thousands of samples.
SLOW := tests/app tests/benchmarks tests/cli tests/research src/amortized_kde/research tests/test_concurrency.py \
  tests/test_examples.py tests/test_golden.py tests/contracts/test_densities.py tests/contracts/test_weights.py \
  tests/density/test_ladder_density.py tests/integrations/xarray/test_distributed.py \
  tests/learned/paper/test_prediction.py tests/numerics/test_leave_one_out.py tests/numerics/test_pairs.py \
  tests/selection/test_crossvalidation.py tests/selection/test_plugin.py

.PHONY: demo app test test-fast test-versions lint docs wheel bench clean
.DELETE_ON_ERROR:

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "amortized-kde needs Python 3.11 or newer: make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.user: $(BIN)/python pyproject.toml constraints.txt
	$(PIP) -e '.[plot]'
	touch $@

$(VENV)/.app: $(VENV)/.user
	$(PIP) -e '.[app]'
	touch $@

$(VENV)/.dev: $(VENV)/.user
	$(PIP) -e '.[dev]'
	touch $@

$(VENV)/.bench: $(VENV)/.dev
	$(PIP) -e '.[bench]'
	touch $@

$(VENV)/.docs: $(VENV)/.dev
	$(PIP) -e '.[docs]'
	touch $@

# Compiled loops are cached beside the sources; a loop does not notice when one that it calls was edited.
$(VENV)/.compiled: $(BIN)/python $(SOURCES)
	find src -name '*.nb[ic]' -delete
	touch $@

demo: $(VENV)/.user $(VENV)/.compiled
	mkdir -p demo
	$(BIN)/amortized-kde fit examples/faithful.csv --column eruptions --bounds 0 none --out demo/density.csv --plot demo/density.png

app: $(VENV)/.app $(VENV)/.compiled
	$(BIN)/amortized-kde app

# One process has all tests that share a server; pytest 9.2 would not keep such groups together.
test: $(VENV)/.dev $(VENV)/.compiled
	$(BIN)/python -m pytest -n 2 --dist loadgroup

test-fast: $(VENV)/.dev $(VENV)/.compiled
	$(BIN)/python -m pytest -n 2 --dist loadgroup $(SLOW:%=--ignore=%)

# Each version has an environment of its own, .venv-3.12 and .venv-3.13.
test-versions:
	@failed=; for version in $(VERSIONS); do \
	  if python$$version -c "" 2> /dev/null; then \
	    $(MAKE) test PYTHON=python$$version VENV=.venv-$$version || failed="$$failed $$version"; \
	  else \
	    echo "python$$version was not found: no tests on $$version"; \
	  fi; \
	done; [ -z "$$failed" ] || { echo "failed on$$failed"; exit 1; }

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/.docs $(VENV)/.compiled
	rm -rf build/site
	$(BIN)/sphinx-build -W --keep-going -n -q -d build/doctrees docs build/site
	$(BIN)/python -m pytest docs/tests docs/scripts/fill.py

wheel: $(VENV)/.dev
	rm -rf build/wheel build/empty
	$(BIN)/python -m build --wheel --outdir build/wheel
	@$(BIN)/python -m zipfile -l build/wheel/*.whl | awk 'NR > 1 { files++ } /\.py / { python++ } END { print files, "files,", python, "of Python" }'
	$(PYTHON) -m venv build/empty
	build/empty/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt build/wheel/*.whl
	cd build && empty/bin/amortized-kde fit ../examples/galaxies.csv --json && empty/bin/amortized-kde models

bench: $(VENV)/.bench $(VENV)/.compiled
	$(BIN)/python benchmarks/selector_speed.py
	$(BIN)/python benchmarks/task_speed.py
	$(BIN)/python benchmarks/first_use.py
	$(BIN)/python benchmarks/training_step.py
	$(BIN)/python benchmarks/ensembles.py

clean:
	rm -rf $(VENV) demo build dist docs/gallery docs/reference/generated
	find . -name '*.nb[ic]' -delete
