# What people type. Each target installs what is missing (scripts/setup) and builds first.
.PHONY: train build python test sanitize asan tsan sanitize-python bench docs sbom format tidy clean
.PHONY: soak soak-fuzz soak-services soak-seeds soak-grid soak-process soak-data
.DEFAULT_GOAL := build

# Only what the demo needs; `build` in the same folder adds the rest.
train:
	@scripts/setup train
	@[ -f build/release/build.ninja ] || cmake --preset train
	cmake --build --preset train
	@ln -sfn release/bin/veche build/veche
	build/veche train

# Configured each time: what was not installed when it was last may be now.
build:
	@scripts/setup test
	cmake --preset release
	cmake --build --preset release
	@ln -sfn release/bin/veche build/veche

# The package for Python alone, and its tests.
python:
	@scripts/setup test
	cmake --preset release
	cmake --build --preset release --target python_tests
	ctest --preset release --label-regex python

test: build
	ctest --preset release

# Both, even if the first fails.
sanitize:
	@failed=""; for each in asan tsan; do $(MAKE) $$each || failed="$$failed $$each"; done; \
	for each in asan tsan; do case "$$failed " in *" $$each "*) echo "$$each: FAILED" ;; *) echo "$$each: passed" ;; esac; done; \
	test -z "$$failed"

asan tsan:
	@scripts/setup test
	cmake --preset $@ && cmake --build --preset $@ && ctest --preset $@

# The package for Python under the address sanitizer. Not part of `sanitize`: most of its minutes are Python's and PyTorch's.
sanitize-python:
	@scripts/setup test
	cmake --preset asan && cmake --build --preset asan --target python_tests
	ctest --test-dir build/asan --label-regex python --output-on-failure

bench: build
	build/veche bench all

# SOAK scales every number of `make soak`: with 1 each of its parts takes up to two hours on two cores, with SOAK=0.01 minutes, of
# which the tests of soak-process take most. `make -k soak` goes on after a part that failed. CONFIGURATIONS: random configurations
# compared across engines.
SOAK ?= 1
# A number that SOAK scales, and the least that the test needs to say anything.
part = $(shell awk 'BEGIN { n = int($(1) * $(SOAK)); least = $(or $(2),1); print n < least ? least : n }')
CONFIGURATIONS ?= $(call part,3000)
CIFAR10 ?= data/cifar10-jpeg.tar.zst
bin = $(CURDIR)/build/release/bin

# The likeliest to fail first: nothing else compiles by clang, and times suffer most from a busy machine. Then the quickest.
soak: soak-fuzz soak-services soak-seeds soak-grid soak-process soak-data

# Every parser of files from outside, by libFuzzer.
soak-fuzz:
	@scripts/setup soak
	scripts/fuzz $(call part,70)

# Hostile clients beside a training and beside `veche serve`, and Lighthouse's scores of the pages.
soak-services: build
	@scripts/setup soak
	VECHE=$(CURDIR)/build/veche scripts/lighthouse
	VECHE=$(CURDIR)/build/veche SECONDS_OF_ATTACK=$(call part,1200) python3 -B tests/process/services_soak.py

# What a seed decides: orders of events, schedules of the membership, configurations. 40 orders are as many as sanitizers try.
soak-seeds: build
	SEEDS=$(call part,8000,40) $(bin)/views_test --gtest_brief=1
	for test in $(bin)/seeded_*_test; do SEEDS=$(call part,2000,40) $$test --gtest_brief=1 || exit 1; done
	SEEDS=$(call part,1000000) $(bin)/membership_schedules_test
	TRIES=$(call part,10000,200) $(bin)/grid_links_test --gtest_filter='Admission.*'
	VECHE=$(CURDIR)/build/veche GRID_TRAIN=$(bin)/grid_fixed_train scripts/fuzz-runs --count $(CONFIGURATIONS) --seed $$(date +%s) --jobs 0.5 --networks 0.1

# Members that are killed, come back and come at once.
soak-grid: build
	GRID_MEMBER=$(bin)/grid_member GRID_STEP=0.2 GRID_NEWCOMERS=$(call part,24,4) python3 -B tests/grid/crowd.py
	GRID_MEMBER=$(bin)/grid_member GRID_MOST=1 GRID_KILLS=$(call part,100) python3 -B tests/grid/recovery.py
	VECHE=$(CURDIR)/build/veche GRID_ROUNDS=$(call part,500) GRID_FAULTS=$(call part,4) python3 -B tests/process/grid_soak.py
	GRID_MEMBER=$(bin)/grid_member GRID_GRIDS=3 GRID_MEMBERS=9 GRID_AT_ONCE=4 GRID_KILLS=$(call part,30000,3) GRID_GATHER=0.05 GRID_STEP=0.05 python3 -B tests/grid/recovery.py

# Real processes, again and again; without the tests that the other parts have, and the one that builds the library once more.
soak-process: build
	KILLS=$(call part,10) ctest --preset release --tests-regex mpi_job_test
	ctest --preset release --label-regex process --exclude-regex 'fuzz_runs_test|pages_test' --repeat until-fail:$(call part,5)

# A published set, from its archive to the accuracy that is known.
soak-data: build
	scripts/soak-cifar build/veche $(CIFAR10) $(call part,2)

# The documentation as a site: build/docs/index.html.
docs:
	@scripts/setup docs
	scripts/docs-site build/docs

# Every library that the build is linked with or contains, with its licence: CycloneDX.
sbom: build
	scripts/sbom build/release > build/veche.cdx.json

format:
	clang-format -i $$(git ls-files '*.cc' '*.h')

# Files are read together, as they are built (a quarter of the time). Not the networks: clang cannot compile libtorch 1.13's
# headers as C++20 (vectors of an incomplete type).
tidy:
	@scripts/setup tidy
	cmake --preset tidy
	run-clang-tidy-19 -quiet -p build/tidy -j $$(nproc) -extra-arg=-Wno-unknown-warning-option -extra-arg=-Wno-unknown-pragmas -extra-arg=-Wno-deprecated-declarations -extra-arg=-Wthread-safety \
		'^(?!.*/model/torch/).*\.(cc|cxx)$$'

clean:
	rm -rf build

# As usual: make install PREFIX=/opt/veche, and DESTDIR for those who make packages.
PREFIX ?= /usr/local
.PHONY: install package
install: build
	DESTDIR=$(DESTDIR) cmake --install build/release --prefix $(PREFIX)

package: build
	cpack --config build/release/CPackConfig.cmake -B build/package
