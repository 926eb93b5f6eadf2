# Uses uv where it is on the PATH, else the standard venv and pip.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
UV     := $(shell command -v uv 2>/dev/null)

ifdef UV
create  = $(UV) venv --quiet --allow-existing --python '>=3.11' $(VENV)
install = $(UV) pip install --quiet --python $(BIN)/python
else
create  = $(PYTHON) -m venv $(VENV)
install = $(BIN)/python -m pip install --quiet --disable-pip-version-check
endif

# Compiled modules are kept: tests start the program often.
export PYTHONDONTWRITEBYTECODE =

.DEFAULT_GOAL := help
.PHONY: help install demo test test-slow lint bench docs ledger reproduce pictures release-check vendor clean

help:
	@echo "make install   .venv with the package"
	@echo "make demo      the main job on the bundled, simulated sample"
	@echo "make test      the tests, but those that are slow by their nature"
	@echo "make test-slow simulated coverage, kills, clusters, whole studies; property tests at length"
	@echo "make lint      ruff and the strict type check"
	@echo "make bench     speed as ratios to the naive path, one JSON object per line"
	@echo "make docs      the documentation as a site"
	@echo "make ledger    FROM=FOLDER: published tables made again, as docs/ledger.md"
	@echo "make reproduce published tables made again whose files are here; FROM=FOLDER says where more are"
	@echo "make pictures  the pictures of README and docs, and what README shows of the demo"
	@echo "make release-check   the wheel and the source as they would be published, tried in a fresh environment"

# One stamp per set of extras: a changed pyproject.toml installs again.
$(VENV)/.%: pyproject.toml
	@test -x $(BIN)/python || $(create)
	$(install) -e '.$(if $(filter-out base,$*),[$*])'
	@touch $@

install: $(VENV)/.base

demo: install
	@$(BIN)/metaeval demo

test: $(VENV)/.test
	$(BIN)/python -m pytest -n 4 --dist worksteal $(ARGS)

test-slow: $(VENV)/.test
	METAEVAL_THOROUGH=1 $(BIN)/python -m pytest -n 2 --dist worksteal -m "slow or hypothesis" $(ARGS)

lint: $(VENV)/.test $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.test
	@$(BIN)/python -m benchmarks $(ARGS)

docs: $(VENV)/.docs
	@$(BIN)/python -m sphinx -W --keep-going -q -b html -d docs/_build/doctrees docs docs/_build/html
	@echo "docs/_build/html/index.html"

# FROM is the folder of the released files.
ledger: $(VENV)/.test
	$(BIN)/metaeval reproduce all --from $(FROM) --page docs/ledger.md

# Ends with an error where a cell differs without an explanation.
reproduce: install
	$(BIN)/metaeval reproduce all $(if $(FROM),--from $(FROM))

# Needs a Chromium: on the PATH, or METAEVAL_CHROMIUM says where.
pictures: $(VENV)/.test
	@$(BIN)/python -m benchmarks.pictures
	@$(BIN)/python -m benchmarks.exposure_bias

# As a user gets it: built, checked, installed alone, and run.
release-check: $(VENV)/.release
	rm -rf dist build/release
	$(BIN)/python -m build --outdir dist
	$(BIN)/python -m twine check --strict dist/*
	$(PYTHON) -m venv build/release
	build/release/bin/pip install --quiet --disable-pip-version-check dist/*.whl
	build/release/bin/metaeval demo --out build/release/demo
	build/release/bin/metaeval reproduce all --results build/release/published

# The libraries in report.html, built anew after a version in its package.json was changed; needs npm.
vendor:
	cd metaeval/reports/assets/vendor && npm install --no-package-lock --no-audit --no-fund && node build.mjs && rm -rf node_modules

clean:
	rm -rf $(VENV) docs/_build docs/reference/api docs/reference/commands build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
