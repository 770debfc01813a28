# Every target works from a clean clone with Python 3.11, make and git: the environment is made on first use.
# pip's own variables are honoured, among them PIP_INDEX_URL and PIP_EXTRA_INDEX_URL.

PYTHON ?= python3.11
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.installed

.PHONY: run test check format bench proof clean
.DELETE_ON_ERROR:

run: $(READY)
	$(BIN)/python -m runner

test: $(READY)
	$(BIN)/python -m pytest -n auto --dist worksteal

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Speed and memory, as ratios within one run.
bench: $(READY)
	$(BIN)/python -m bench

# Every promise at full size, one line a point; a second call goes on where the first one stopped.
proof: $(READY)
	$(BIN)/python -m bench.proof

# What killed runs left, caches and builds. Finished runs stay, and so do those that are alive.
clean:
	$(PYTHON) -c 'from pathlib import Path; from runner.folder import remove_leftovers; remove_leftovers(Path("outputs"))'
	rm -rf build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis bench/results
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +

# Nothing is compiled ahead: most modules of what is installed are never imported, and the others are compiled then.
$(READY): pyproject.toml constraints.txt
	test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@
