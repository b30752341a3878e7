# What people type. Each target installs what is missing (scripts/setup) and builds first.
.PHONY: train build test sanitize bench soak setup format tidy clean
.DEFAULT_GOAL := build

train: build
	build/veche train

build: setup
	@[ -f build/release/build.ninja ] || cmake --preset release
	cmake --build --preset release
	@ln -sfn release/bin/veche build/veche

test: build
	ctest --preset release

sanitize: setup
	cmake --preset asan && cmake --build --preset asan && ctest --preset asan
	cmake --preset tsan && cmake --build --preset tsan && ctest --preset tsan

bench: build
	build/veche bench all

soak: build
	ctest --preset release --label-regex process --repeat until-fail:10
	KILLS=10 ctest --preset release --tests-regex mpi_job_test
	for test in build/release/bin/seeded_*_test; do SEEDS=2000 $$test --gtest_brief=1 || exit 1; done
	scripts/setup soak
	scripts/fuzz
	scripts/soak-cifar build/veche $(CIFAR10)

setup:
	@scripts/setup

format:
	clang-format -i $$(git ls-files '*.cc' '*.h')

tidy: build
	clang-tidy -p build/release --quiet $$(git ls-files '*.cc' | grep -v examples/)

clean:
	rm -rf build

# As usual: make install PREFIX=/opt/veche, and DESTDIR for those who make packages.
PREFIX ?= /usr/local
.PHONY: install package
install: build
	DESTDIR=$(DESTDIR) cmake --install build/release --prefix $(PREFIX)

package: build
	cpack --config build/release/CPackConfig.cmake -B build/package
