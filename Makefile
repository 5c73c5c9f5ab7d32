PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
QUICK  := src $(addprefix tests/,core methods protocol problem laws pair client service/http service/storage service/test_layers.py)

.PHONY: setup demo test tools check quick coverage soak bench docs golden reference constraints dist clean

setup: $(STAMP)          ## .venv with the package and all extras

$(STAMP): pyproject.toml constraints.txt
	@echo "setting up $(VENV) (Python packages only; this takes a minute the first time)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --upgrade pip
	@$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[all,dev]"
	@touch $(STAMP)

demo: setup              ## a whole federation on this machine, live
	@$(BIN)/bestarm demo

test: tools check        ## everything the tests need, then the tests

tools:                   ## PostgreSQL, Chromium and axe-core for the tests, where they are missing
	@sh scripts/install-test-tools.sh

check: setup             ## ruff, mypy --strict, pytest with doctests, warnings as errors
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -n 2 --dist loadfile

quick: setup             ## under a minute: ruff, mypy, and the tests that wait for nothing
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow" $(QUICK)

coverage: setup          ## all tests, which lines and branches they reach, and the least share that is allowed
	$(BIN)/python -m pytest -n 2 --dist loadfile --cov --cov-report=term:skip-covered --cov-report=html

soak: setup              ## the tests that kill, stop and starve servers and sites, for long: at least 500 kills; and more runs
	@rm -f .soak
	BESTARM_TOLL=$(CURDIR)/.soak BESTARM_KILLS=100 BESTARM_FAULTS=60 BESTARM_CUTS=40 $(BIN)/python -m pytest -n 2 \
		tests/service/test_kill.py tests/local/test_one_storage.py tests/service/test_power_cut.py tests/model
	BESTARM_EXACT=5000 $(BIN)/python -m pytest tests/simulation/test_exact.py
	@$(BIN)/python tests/support/toll.py .soak 500

bench: setup             ## ratios, measured in one run
	$(BIN)/bestarm bench

docs: setup              ## the documentation, in site/
	$(BIN)/mkdocs build --strict

golden: setup            ## write the golden traces anew; review the change like code
	$(BIN)/python scripts/golden.py

reference: setup         ## write docs/reference/ anew from the code
	$(BIN)/python scripts/reference.py

constraints: setup       ## write down the versions the tests ran on
	@$(BIN)/python -m pip freeze --exclude-editable | grep -v ' @ ' > constraints.txt

dist: setup              ## sdist and wheel, what they need with versions and licences, and the versions the tests ran on
	@$(BIN)/python -m build --outdir dist .
	@$(BIN)/python scripts/bill_of_materials.py dist
	@cp constraints.txt dist/

clean:
	rm -rf $(VENV) build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage* htmlcov
