# The commands of a developer. Everything they make is inside this folder and ignored by git.
SHELL := /bin/bash
venv := .venv/bin

.PHONY: help setup demo test test-cpp test-sanitize test-python lint format clean

help:
	@echo "make demo           set up, then one MPI program on the stock MPI and on omnes, side by side"
	@echo "make test           set up, then all tests"
	@echo "make test-cpp       only the C++ tests; likewise test-sanitize, test-python"
	@echo "make lint format    check, or put right, the formatting and the Python code"
	@echo "make clean          remove builds (not .venv and .mpi)"

setup:
	@scripts/setup

demo: setup
	@$(venv)/omnes demo

# One after the other: each uses all CPUs.
.NOTPARALLEL:
test: test-cpp test-sanitize test-python

test-cpp: setup
	@PATH="$$PWD/$(venv):$$PATH" cmake --build build/editable --target cpp_tests
	@$(venv)/ctest --test-dir build/editable --output-on-failure -j "$$(nproc)"

test-sanitize: setup
	@scripts/sanitize address,undefined
	@scripts/sanitize thread test_shm test_waiting test_lane

test-python: setup
	@$(venv)/python -m pytest -q -n 2

lint: setup
	@$(venv)/ruff check .
	@$(venv)/ruff format --check .
	@git ls-files '*.[ch]pp' '*.[ch]' | xargs $(venv)/clang-format --dry-run --Werror

format: setup
	@$(venv)/ruff check --fix .
	@$(venv)/ruff format .
	@git ls-files '*.[ch]pp' '*.[ch]' | xargs $(venv)/clang-format -i

clean:
	rm -rf build dist
