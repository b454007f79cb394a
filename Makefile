# Everything people and CI run. `make help` lists it.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PYTEST_ARGS ?=
# Most tests wait for something most of the time, so more run at once than there are cores.
WORKERS ?= 3
PARALLEL := -n $(WORKERS) --dist loadfile --no-loadscope-reorder
# What a change of the heart needs: it waits for nothing, so as many run at once as there are cores.
# The slowest files come first, and whoever is done takes over from whoever is not.
QUICK_WORKERS ?= auto
QUICK := tests/parity/test_vectors.py $(patsubst %,tests/property/test_%.py,columns queue cluster counts explain_equals_run) \
  $(patsubst %,tests/unit/%,plugins state model framework config scheduler snapshot explaining) tests/meta
# CI has the real binaries, so nothing is left out and coverage can be demanded.
COVERAGE := $(if $(filter true,$(CI)),--cov --cov-report=term --cov-fail-under=94)

.DEFAULT_GOAL := help
.PHONY: help setup demo test quick lint types layers unit e2e cov fmt kube parity selectors agreement bench-extender bench-scheduler bench-core bench-simulator bench-check bench-all bench-embedded bench-memory bench-faults bench-hostile soak conformance release-check docs lock clean

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-16s %s\n", $$1, $$2}'

setup: $(STAMP) ## prepare .venv with the moor command in .venv/bin

$(STAMP): Makefile pyproject.toml locks/build.txt locks/dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "mooring needs Python 3.11 or newer; say which: make PYTHON=python3.12 ..." >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)
	@# Python 3.11 puts a setuptools of its own there, which nobody needs and nobody has pinned.
	@$(BIN)/python -m pip uninstall --yes -qq --disable-pip-version-check setuptools
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement locks/build.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement locks/dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-index --no-build-isolation --editable .
	@touch $@

demo: setup ## a cluster in memory and pods being placed: nothing else is needed
	@$(BIN)/moor demo

test: lint types layers unit ## lint, types, layers and all tests (the real Kubernetes ones need: make kube)

quick: lint layers ## lint, layers, types and the tests of the heart, in a minute or so
	$(BIN)/mypy
	$(BIN)/python -m pytest -n $(QUICK_WORKERS) --dist worksteal -q $(QUICK) $(PYTEST_ARGS)

lint: setup
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: setup
	$(BIN)/mypy
	@for folder in examples/[0-9]*/; do $(BIN)/mypy $$folder*.py || exit 1; done

layers: setup
	$(BIN)/lint-imports --no-cache --config pyproject.toml

unit: setup ## the tests alone, WORKERS=3 at a time; PYTEST_ARGS="-k NAME" for some of them
	$(BIN)/python -m pytest $(PARALLEL) $(COVERAGE) $(PYTEST_ARGS)

e2e: setup ## only the tests against the real Kubernetes binaries
	$(BIN)/python -m pytest $(PARALLEL) -m kube $(PYTEST_ARGS)

cov: setup ## the tests with branch coverage
	$(BIN)/python -m pytest $(PARALLEL) --cov --cov-report=term $(PYTEST_ARGS)

fmt: setup ## format the code and fix what ruff can fix
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

kube: ## etcd, kube-apiserver, kube-scheduler and kubectl v1.36.4 for the tests (needs Go)
	tools/kube/build.sh

parity: setup ## compare with kube-scheduler's own answers; VECTORS=FILES for other cases
	$(BIN)/python -m tools.parity $(VECTORS) $(ARGS)

CASES ?= 10000

selectors: setup ## compare device selectors with kube-scheduler; CASES=10000 random ones (needs Go)
	$(BIN)/python -m tools.cel.compare --count $(CASES) $(ARGS)

agreement: setup ## do explain and run say the same? CASES=10000 random ones
	$(BIN)/python -m tools.agreement --cases $(CASES) $(ARGS)

bench-extender: setup ## mooring against a Go extender; ARGS=--quick for a short run
	$(BIN)/python -m benchmarks.extender $(ARGS)

bench-scheduler: setup ## moor run against kube-scheduler; ARGS=--quick for a short run
	$(BIN)/python -m benchmarks.scheduler $(ARGS)

bench-core: setup ## decisions in process, without I/O; ARGS=--quick for a short run
	$(BIN)/python -m benchmarks.core $(ARGS)

bench-simulator: setup ## simulations in virtual time, by nodes and pods; ARGS=--quick for a short run
	$(BIN)/python -m benchmarks.simulator $(ARGS)

bench-check: setup ## has a decision become dearer? instructions against recorded ones; ARGS="--base REV"
	$(BIN)/python -m benchmarks.check $(ARGS)

bench-all: setup ## everything docs/performance.md shows, into docs/benchmarks: about three hours
	$(BIN)/python -m benchmarks.performance $(ARGS)

bench-embedded: setup ## moor cluster beside the real kube-apiserver; ARGS=--alone without it
	$(BIN)/python -m benchmarks.embedded $(ARGS)

bench-memory: setup ## what names that tenants invent cost moor run; ARGS=--quick for a short run
	$(BIN)/python -m benchmarks.memory $(ARGS)

bench-faults: setup ## kube-scheduler and moor run in trouble, in turn; ARGS=--quick for a short run
	$(BIN)/python -m benchmarks.faults $(ARGS)

bench-hostile: setup ## what callers get from moor serve beside hostile ones; ARGS=--quick
	$(BIN)/python -m benchmarks.hostile $(ARGS)

MINUTES ?= 10
SEED ?= 1
REPLICAS ?= 2

soak: setup ## moor run while everything goes wrong: MINUTES=10 SEED=1 REPLICAS=1|2
	$(BIN)/python -m tools.soak --minutes $(MINUTES) --seed $(SEED) --replicas $(REPLICAS) $(ARGS)

conformance: setup ## Kubernetes' own end-to-end tests of scheduling on moor cluster, 15 minutes (needs Go)
	tools/kube/build-e2e.sh
	$(BIN)/python -m tools.conformance $(ARGS)

release-check: setup ## wheel, sdist, images, chart, alerts, dashboard; needs Linux, Go, the package index, Debian's prometheus
	$(BIN)/python -m pytest -q -p no:cacheprovider $(PYTEST_ARGS) tools/release

docs: setup ## write docs/reference, the dashboard, chart, kustomization and examples' manifests anew
	$(BIN)/python -m tools.reference
	$(BIN)/python -m tools.dashboard
	$(BIN)/python -m tools.deploy_files

lock: setup ## write locks/ anew after a change of constraints.txt (asks the package index)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --no-build-isolation --editable . --group dev hatchling
	$(BIN)/python -m tools.lock

clean: ## remove .venv and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage
