# `make` alone says what there is.
.PHONY: help setup setup-test build release test urlsession examples tsan asan lint format docs demo bench fuzz libfuzzer sweep failing crowd plants clean
SWIFT ?= swift
# The Swift libraries go into the program: it runs on machines without Swift, and calls within it are cheaper.
# Another linker than lld warns about Foundation.
STATIC = --static-swift-stdlib -Xswiftc -use-ld=lld
RELEASE = --configuration release $(if $(filter Linux,$(shell uname)),$(STATIC))
help:
	@echo "make build    build everything"
	@echo "make test     set up what the tests need, then run them all"
	@echo "make urlsession  run the engine's tests on URLSession as well"
	@echo "make examples build the programs of Examples, and run them against their tests"
	@echo "make demo     show the main job: download, kill, list, resume, compare"
	@echo "make bench    measure against curl, wget and aria2c (speed, memory, small files, a store of 100,000 entries)"
	@echo "make lint     check the format"
	@echo "make format   mend the format"
	@echo "make docs     build the documentation with DocC into .build/docs; a warning is an error"
	@echo "make release  build resumectl for use"
	@echo "make tsan     run the tests under ThreadSanitizer; make asan under AddressSanitizer"
	@echo "make fuzz     ten million odd answers for the parsers (about three minutes); SEED=7 for others"
	@echo "make crowd    ten minutes of processes on one store, killed and stopped (SECONDS=60, SEED=7)"
	@echo "make sweep    let resumectl die at each file-system call, and cut the power (root; under an hour); SEEDS=1 for less"
	@echo "make failing  let each of its file-system calls fail, with each error (hours)"
	@echo "make plants   plant known faults in the sources, one by one, and see the checks catch them"
	@echo "make libfuzzer  the same parsers under libFuzzer, for ten minutes"

# On Debian and Ubuntu what is missing is installed; elsewhere it is named.
setup:
	@Scripts/install.sh libsqlite3-dev

setup-test: setup
	@Scripts/install.sh nginx-light sqlite3 strace apache2-bin lighttpd lighttpd-mod-deflate caddy curl openssl tinyproxy-bin xfsprogs e2fsprogs
	@Scripts/install-moto.sh .build/moto
	@Scripts/install-apsw.sh .build/apsw

build: setup
	$(SWIFT) build --build-tests

release: setup
	$(SWIFT) build $(RELEASE) --product resumectl

test: setup-test
	$(SWIFT) build --build-tests
	Scripts/build-examples.sh
	Scripts/test-modules.sh

# One after the other: all URLSessions of a process share one thread, which whoever is slow holds up.
urlsession: setup-test
	$(SWIFT) build --build-tests
	TEST_URLSESSION=1 $(SWIFT) test --skip-build --no-parallel --filter '^ResumeDownloadTests\.'

examples: setup-test
	$(SWIFT) build --build-tests
	Scripts/build-examples.sh
	$(SWIFT) test --skip-build --filter '^ExampleTests\.'

# Programs with a library preloaded do not go together with a sanitizer's own; nor does what counts memory; the examples
# are built without one. One test after the other: side by side they would run out of their time limits.
ONE_BY_ONE = --no-parallel
SANITIZED = SKIP="CrashSweepTests CrowdTests ExampleTests FaultInjectionTests LinkageTests MemoryTests" \
	Scripts/test-modules.sh

tsan: setup-test
	$(SWIFT) build --build-tests --sanitize=thread --scratch-path .build/tsan
	TSAN_OPTIONS="suppressions=$(CURDIR)/Tests/thread-sanitizer.suppressions" \
		$(SANITIZED) $(ONE_BY_ONE) --sanitize=thread --scratch-path .build/tsan

asan: setup-test
	$(SWIFT) build --build-tests --sanitize=address --scratch-path .build/asan
	ASAN_OPTIONS=detect_leaks=0 $(SANITIZED) $(ONE_BY_ONE) --sanitize=address --scratch-path .build/asan

lint:
	$(SWIFT) format lint --strict --recursive Package.swift Sources Migrations Tests Benchmarks Fuzz Examples

format:
	$(SWIFT) format --in-place --recursive Package.swift Sources Migrations Tests Benchmarks Fuzz Examples

# From the debug build, which is made where it is missing.
docs: setup
	Scripts/build-docs.sh

demo: setup
	$(SWIFT) build $(RELEASE) --product resumectl
	$(SWIFT) build $(RELEASE) --product origin-server
	Scripts/demo.sh .build/release

bench: setup-test release
	@Scripts/install.sh aria2 wget wget2 curl openssl time
	Benchmarks/compare.sh .build/release/resumectl
	Benchmarks/segments.sh .build/release/resumectl
	Benchmarks/small-files.sh .build/release/resumectl
	$(SWIFT) build $(RELEASE) --product store-benchmark
	.build/release/store-benchmark

SEED ?= 1
fuzz: setup
	$(SWIFT) build $(RELEASE) --product parser-fuzzer
	.build/release/parser-fuzzer --seed $(SEED) --count 10000000

# libFuzzer brings a main of its own, and measures what its inputs reach.
libfuzzer: setup
	$(SWIFT) build --configuration release --product parser-fuzzer --sanitize=fuzzer -Xswiftc -DLIBFUZZER \
		--scratch-path .build/libfuzzer
	@mkdir -p .build/libfuzzer/corpus
	cd .build/libfuzzer && release/parser-fuzzer -max_total_time=600 -max_len=600 -timeout=10 corpus

SECONDS ?= 600
crowd: setup-test
	$(SWIFT) build $(RELEASE) --product resumectl
	$(SWIFT) build $(RELEASE) --product store-crowd
	.build/release/store-crowd --seconds $(SECONDS) --seed $(SEED)

# Mounts ext4 and XFS images, where nobody else sees them.
SEEDS ?= 2
sweep: setup
	@Scripts/install.sh xfsprogs e2fsprogs mount util-linux
	$(SWIFT) build $(RELEASE) --product resumectl
	$(SWIFT) build $(RELEASE) --product crash-sweep
	.build/release/crash-sweep --seeds $(SEEDS)

failing: setup
	$(SWIFT) build $(RELEASE) --product resumectl
	$(SWIFT) build $(RELEASE) --product crash-sweep
	.build/release/crash-sweep --failing --file-system plain

plants: setup-test
	Scripts/plant-faults.sh

clean:
	rm -rf .build
