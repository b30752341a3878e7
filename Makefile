# What people type. Each target installs what is missing (scripts/setup) and builds first.
.PHONY: train build python test sanitize asan tsan sanitize-python bench soak docs sbom format tidy clean
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
	cmake --build --preset release --target python_package veche_cli
	ctest --preset release --label-regex python

test: build
	ctest --preset release

sanitize: asan tsan

asan tsan:
	@scripts/setup test
	cmake --preset $@ && cmake --build --preset $@ && ctest --preset $@

# The package for Python under the address sanitizer. Not part of `sanitize`: most of its minutes are Python's and PyTorch's.
sanitize-python:
	@scripts/setup test
	cmake --preset asan && cmake --build --preset asan --target python_package veche_cli
	ctest --test-dir build/asan --label-regex python --output-on-failure

bench: build
	build/veche bench all

# SOAK scales every number of `make soak`: with 1 it takes some hours, with SOAK=0.01 it shows that each command works.
# CONFIGURATIONS: random configurations compared across engines.
SOAK ?= 1
part = $(shell awk 'BEGIN { n = int($(1) * $(SOAK)); print n < 1 ? 1 : n }')
CONFIGURATIONS ?= $(call part,3000)
CIFAR10 ?= data/cifar10-jpeg.tar.zst
soak: build
	ctest --preset release --label-regex process --exclude-regex fuzz_runs_test --repeat until-fail:$(call part,10)
	VECHE=$(CURDIR)/build/veche GRID_TRAIN=$(CURDIR)/build/release/bin/grid_fixed_train scripts/fuzz-runs --count $(CONFIGURATIONS) --seed $$(date +%s) --jobs 0.5 --networks 0.1
	KILLS=$(call part,10) ctest --preset release --tests-regex mpi_job_test
	for test in build/release/bin/seeded_*_test; do SEEDS=$(call part,2000) $$test --gtest_brief=1 || exit 1; done
	SEEDS=$(call part,8000) build/release/bin/views_test --gtest_brief=1
	GRID_MEMBER=$(CURDIR)/build/release/bin/grid_member GRID_MOST=1 GRID_KILLS=$(call part,100) python3 -B tests/grid/recovery.py
	GRID_MEMBER=$(CURDIR)/build/release/bin/grid_member GRID_GRIDS=3 GRID_MEMBERS=9 GRID_AT_ONCE=4 GRID_KILLS=$(call part,30000) GRID_GATHER=0.05 GRID_STEP=0.05 python3 -B tests/grid/recovery.py
	GRID_MEMBER=$(CURDIR)/build/release/bin/grid_member GRID_STEP=0.2 python3 -B tests/grid/crowd.py
	VECHE=$(CURDIR)/build/veche GRID_ROUNDS=$(call part,500) python3 -B tests/process/grid_soak.py
	VECHE=$(CURDIR)/build/veche SECONDS_OF_ATTACK=$(call part,1200) python3 -B tests/process/services_soak.py
	SEEDS=$(call part,1000000) build/release/bin/membership_schedules_test
	TRIES=$(call part,10000) build/release/bin/grid_links_test --gtest_filter='Admission.*'
	@scripts/setup soak
	scripts/fuzz $(call part,70)
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
