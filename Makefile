# What a newcomer types. Each target is one script, readable on its own; all work from any folder
# (make -C) and in paths with spaces.

# rustup's folder, which some shells leave out.
export PATH := $(PATH):$(HOME)/.cargo/bin

.DEFAULT_GOAL := help
.PHONY: help demo demo-host build drop-in test fmt lint bench accuracy search-bench bank-bench reliability nightly install wheel packages clean

help:    ## this list
	@sed -n 's/^\([a-z-]*\): *##/  make \1\t/p' Makefile | expand -t 24

demo:    ## tune the bundled ResNet-50 on the simulator and show what was gained
	@scripts/demo

demo-host: ## tune a matrix product and a softmax that really run, on this machine's CPU
	@scripts/demo-host

build:   ## library and command line, release build, in target/release
	@scripts/build

drop-in: ## the library that CANN's clients load, libaoe_tuning.so, in target/release
	@scripts/build
	@scripts/drop-in

test:    ## all tests: Rust, documentation, C; sums at the end
	@scripts/test

fmt:     ## format the Rust code
	@scripts/need rustfmt
	cargo fmt

lint:    ## formatting, clippy, documentation, structure, scripts, licences
	@scripts/lint

bench:   ## time the tuning of the bundled models and what the C interface costs, beside the goals
	@scripts/bench

accuracy: ## errors of the simulator against measured kernels, with plots; DATA=folder of case files
	@DATA='$(DATA)' scripts/bench $@

search-bench: ## how much of the optimum each search algorithm finds; DATA=folder of recorded spaces
	@DATA='$(DATA)' scripts/bench $@

bank-bench: ## what a bank of a million records costs, beside a loader in C++ as CANN's; needs 3 GB in TMPDIR
	@scripts/bench bank

reliability: ## banks in a simulated world: crashes, faults and every order of steps, SEEDS=50000 worlds; orders of threads; sequences of calls in C
	@scripts/reliability $(SEEDS)

nightly: ## lint, all tests with many more cases, and those too long for every change
	@scripts/nightly

install: ## libraries, header, command line, CMake and pkg-config files; PREFIX=/usr/local DESTDIR= LIBDIR=lib DROP_IN=yes
	@scripts/install

wheel:   ## the Python package with all that make install gives, in dist/
	@scripts/wheel

packages: ## .deb, .rpm, an archive and their sums, in dist/
	@scripts/packages

clean:   ## remove everything that was built
	cargo clean
