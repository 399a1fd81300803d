# Two-word commands on top of CMake and scripts/. `make help` lists them. All output goes to build/ and, for what is
# fetched or built once (models, Python packages, the peer), to ~/.cache/npu.
BUILD   = build
MODEL   = smollm2
PROMPT ?= What are the three largest cities of France?
N       = 64
PREFIX  = /usr/local
VERSUS  =
CMAKE   = cmake -G Ninja
# By the environment, so that any character may be in it.
override PROMPT := $(value PROMPT)
export PROMPT

.PHONY: all deps demo check check-full mutants versus install htp packets format lint clean help

all: ## build build/npu and the library; no network
	@$(CMAKE) -S . -B $(BUILD) >/dev/null
	@ninja -C $(BUILD)

deps: ## install the Debian packages that building needs, if any is missing
	@scripts/deps build

demo: ## fetch a small real model and let it answer PROMPT="…"
	@scripts/deps demo
	@$(MAKE) --no-print-directory all
	@model=$$(scripts/models $(MODEL)) && exec $(BUILD)/npu run -m "$$model" -p "$$PROMPT" -n $(N) --temp 0

check: ## install what the tests need, build all, run the quick tier
	@scripts/check quick

check-full: ## the full tier: also ThreadSanitizer, long fuzzing, the peer
	@scripts/check full

mutants: ## take one safeguard at a time away: a test must fail for each
	@scripts/deps test
	@scripts/venv >/dev/null
	@scripts/mutants

versus: ## compare speed and memory with the peers, about 10 minutes (VERSUS="--quick -m FILE --threads T")
	@scripts/deps test
	@$(MAKE) --no-print-directory all
	@scripts/venv >/dev/null
	@scripts/py scripts/versus --npu $(BUILD)/npu $(VERSUS)

install: all ## install program, library, headers, emulated devices (PREFIX=…, DESTDIR=…)
	@cmake -S . -B $(BUILD) -DCMAKE_INSTALL_PREFIX=$(PREFIX) >/dev/null
	@ninja -C $(BUILD) install

htp: ## build the NPU programs for Hexagon
	@scripts/deps python
	@scripts/venv >/dev/null
	@scripts/py scripts/htp-build

packets: ## count the packets of the Hexagon kernels, beside the known figures
	@scripts/deps python
	@scripts/venv >/dev/null
	@scripts/py scripts/htp-packets || [ $$? = 77 ]

format: ## format all C files
	@scripts/deps python
	@scripts/venv >/dev/null
	@scripts/lint-format --fix

lint: ## check formatting and run clang-tidy and ruff
	@scripts/check lint

clean: ## remove build/
	rm -rf $(BUILD)

help: ## list these commands
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' Makefile | expand -t 18
