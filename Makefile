# The commands of a developer. Everything they make is inside this folder and ignored by git.
SHELL := /bin/bash
venv := .venv/bin

.PHONY: help setup demo test test-cpp test-optimised test-one-definition test-sanitize test-sanitize-interposer test-failures coverage test-python test-arm64 lint format docs stubs clean

help:
	@echo "make demo           set up, then one MPI program on the stock MPI and on omnes, side by side"
	@echo "make test           set up, then all tests"
	@echo "make test-cpp       only the C++ tests; likewise test-sanitize, test-python"
	@echo "make test-arm64     some tests for arm64, under qemu"
	@echo "make lint format    check, or put right, the formatting and the Python code; lint also checks includes"
	@echo "make stubs          write what python/omnes/_core.pyi says of the compiled core"
	@echo "make docs           build the documentation as a site, and the manual pages"
	@echo "make clean          remove builds (not .venv and .mpi)"

setup:
	@scripts/setup

demo: setup
	@$(venv)/omnes demo

# Proofs take long, and stay proved under a sanitizer; what has to be quick is also tested as users get it. All other C++
# tests run with sanitizers only, and without them by test-cpp.
proofs := test_algorithms test_verify_random
optimised := $(proofs) test_heap test_kernels test_lane test_shm test_waiting
of_interposer := test_interposer test_failures
sanitized := $(filter-out $(proofs),$(notdir $(basename $(wildcard tests/cpp/test_*.cpp))))

# One after the other: each uses all CPUs.
.NOTPARALLEL:
test: test-optimised test-one-definition test-sanitize test-python

test-cpp: setup
	@PATH="$$PWD/$(venv):$$PATH" cmake --build build/editable --target cpp_tests
	@$(venv)/ctest --test-dir build/editable --output-on-failure -j "$$(nproc)"

test-optimised: setup
	@PATH="$$PWD/$(venv):$$PATH" cmake --build build/editable --target $(optimised) interleavings_tests
	@$(venv)/ctest --test-dir build/editable --output-on-failure -j "$$(nproc)" \
	  -R "^($$(echo $(optimised) | tr ' ' '|'))$$|^interleavings"

test-one-definition: setup
	@scripts/one-definition

test-sanitize: setup
	@scripts/sanitize address,undefined $(sanitized) $(of_interposer)
	@scripts/sanitize thread test_shm test_waiting test_lane

# Not part of `test`: minutes.
test-sanitize-interposer: setup
	@scripts/sanitize-interposer address,undefined

# Not part of `test`: minutes.
test-failures: setup
	@PATH="$$PWD/$(venv):$$PATH" cmake --build build/editable --target test_failures
	@build/editable/tests/cpp/interposer/test_failures --gtest_brief=1

# Not part of `test`: minutes.
coverage: setup
	@$(venv)/python scripts/coverage

# Not part of `test`: a first time it compiles the core again, for minutes.
test-arm64: setup
	@scripts/test-arm64

test-python: setup
	@$(venv)/python -m pytest -q -n 3 --dist worksteal --durations=10

lint: setup
	@scripts/check-includes
	@$(venv)/ruff check .
	@$(venv)/ruff format --check .
	@git ls-files '*.[ch]pp' '*.[ch]' | xargs $(venv)/clang-format --dry-run --Werror
	@$(venv)/mypy
	@$(venv)/check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
	@PATH="$$PWD/$(venv):$$PATH"; if command -v actionlint >/dev/null; then actionlint; \
	  else echo "workflows only checked against their schema: no actionlint"; fi

format: setup
	@$(venv)/ruff check --fix .
	@$(venv)/ruff format .
	@git ls-files '*.[ch]pp' '*.[ch]' | xargs $(venv)/clang-format -i

# Of the docstrings and signatures in src/python.
stubs: setup
	@$(venv)/python -m nanobind.stubgen --quiet --module omnes._core --pattern-file src/python/stub.txt \
	  --output-file python/omnes/_core.pyi --marker-file python/omnes/py.typed
	@$(venv)/ruff format --quiet python/omnes/_core.pyi

docs: setup
	@$(venv)/python scripts/docs

clean:
	rm -rf build dist
