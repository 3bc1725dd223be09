# `make` without a target lists the targets.
.PHONY: help setup setup-test build build-all release dist check test stress coverage urlsession examples tsan asan lint format docs lifecycle asynchttp demo bench count fuzz fuzz-store libfuzzer sweep failing crowd plants clean
SWIFT ?= swift
export SWIFT
# The Swift libraries are linked statically: the program runs on machines without Swift, and calls into them are cheaper.
# Linkers other than lld warn about Foundation.
# Without a table of dynamic symbols, which no other program uses, it starts sooner.
STATIC = --static-swift-stdlib -Xswiftc -use-ld=lld -Xlinker --no-export-dynamic
RELEASE = --configuration release $(if $(filter Linux,$(shell uname)),$(STATIC))
help:
	@echo "make build    build everything, tests included"
	@echo "make check    run the tests for each edit; takes about a minute and needs neither root nor servers"
	@echo "make test     run all tests; installs the servers and tools that they need"
	@echo "make stress   run all tests ten times, five of them on a busy machine; continues where it was stopped"
	@echo "make coverage measure which lines of Sources the tests execute"
	@echo "make urlsession  run the engine's tests on URLSession too"
	@echo "make examples build the programs in Examples and run their tests"
	@echo "make demo     show a download that is killed halfway, resumed and compared"
	@echo "make bench    measure speed and memory against curl, wget, wget2 and aria2c, and a store of 100,000 entries"
	@echo "make count    count the instructions for a file of 16 KiB, which may not exceed Benchmarks/instructions.txt"
	@echo "make lint     check the format and structure of the sources and the wording of texts"
	@echo "make format   format the sources in place"
	@echo "make docs     build the documentation with DocC into .build/docs; warnings are errors"
	@echo "make lifecycle  run a queue as a service of swift-service-lifecycle, whose trait is off by default"
	@echo "make asynchttp  build the adapter for an application's own HTTPClient, whose trait is off by default, and test it"
	@echo "make release  build resumectl in the release configuration"
	@echo "make dist     build the files of a release: a tarball, a Debian package, an SBOM and checksums"
	@echo "make tsan     run the tests with ThreadSanitizer; make asan: with AddressSanitizer"
	@echo "make fuzz     feed ten million malformed responses to the parsers, in about three minutes (SEED=1)"
	@echo "make fuzz-store  plant random rows and damage random pages of stores, for every command (SECONDS=600, SEED=1)"
	@echo "make crowd    run many processes on one store, killing and stopping them (SECONDS=600, SEED=1)"
	@echo "make sweep    kill resumectl and simulate power loss at each file-system call; needs root and up to an hour and a half (SEEDS=2)"
	@echo "make failing  make each file-system call of resumectl fail with each error; takes hours"
	@echo "make plants   add known faults to the sources, one at a time, and check that the tests catch them"
	@echo "make libfuzzer  run libFuzzer on the same parsers for ten minutes"

# Installs missing packages on Debian and Ubuntu. On other systems, prints their names.
setup:
	@Scripts/install.sh libsqlite3-dev libcurl4-openssl-dev

setup-test: setup
	@Scripts/install.sh nginx-light sqlite3 strace apache2-bin lighttpd lighttpd-mod-deflate caddy curl wget aria2 axel openssl tinyproxy-bin nghttp2-proxy tmux zsh fish groff-base xfsprogs e2fsprogs exfat-fuse exfatprogs bindfs acl procps
	@Scripts/install-moto.sh .build/moto
	@Scripts/install-apsw.sh .build/apsw

build: setup
	Scripts/swift.sh build --build-tests

release: setup
	Scripts/swift.sh build $(RELEASE) --product resumectl

# Linux only. The Debian package is left out where dpkg-dev is not installed.
dist: setup
	@Scripts/install.sh dpkg-dev binutils python3
	Scripts/dist.sh

# Needs neither root nor servers. What it leaves out is listed in CONTRIBUTING.md.
check: setup
	@echo "== building the tests"
	@Scripts/swift.sh build --build-tests
	@Scripts/check.sh

build-all: setup-test
	@echo "== building the tests"
	@Scripts/swift.sh build --build-tests
	@echo "== building the examples"
	@Scripts/build-examples.sh

test: build-all
	@echo "== running the tests"
	@Scripts/without-leaks.sh Scripts/run-tests.sh

IDLE ?= 5
BUSY ?= 5
stress: build-all
	Scripts/stress.sh $(IDLE) $(BUSY)

coverage: setup-test
	Scripts/build-examples.sh
	Scripts/coverage.sh

# One test at a time: all URLSessions of a process share one thread, and a slow reader blocks it.
urlsession: setup-test
	Scripts/swift.sh build --build-tests
	TEST_URLSESSION=1 $(SWIFT) test --skip-build --no-parallel --filter '^ResumeDownloadTests\.'

examples: build-all
	$(SWIFT) test --skip-build --filter '^ExampleTests\.'

# A preloaded library conflicts with the sanitizer's, a sanitizer changes what memory tests measure, and the examples
# are built without one. Tests run one at a time: in parallel they would exceed their time limits. RebuildCrashTests
# preloads a library and starts hundreds of processes.
SANITIZED = SKIP="CrashSweepTests CrowdTests ExampleTests FaultInjectionTests LinkageTests MemoryTests" \
	LANES=1 Scripts/run-tests.sh --no-parallel --skip '^ResumectlTests\.RebuildCrashTests'

tsan: setup-test
	Scripts/swift.sh build --build-tests --sanitize=thread --scratch-path .build/tsan
	TSAN_OPTIONS="suppressions=$(CURDIR)/Tests/thread-sanitizer.suppressions" \
		BUILD=.build/tsan $(SANITIZED)

asan: setup-test
	Scripts/swift.sh build --build-tests --sanitize=address --scratch-path .build/asan
	ASAN_OPTIONS=detect_leaks=0 BUILD=.build/asan $(SANITIZED)

lint:
	$(SWIFT) format lint --strict --recursive Package.swift Sources Migrations Tests Benchmarks Fuzz Examples
	! git grep -nE '^(<<<<<<<|>>>>>>>) '
	Scripts/check-language.sh
	Scripts/check-cycles.py
	Scripts/check-budget.py
	Scripts/api.py --check
	Scripts/manual.py .build/debug/resumectl --check docs/commands.md

format:
	$(SWIFT) format --in-place --recursive Package.swift Sources Migrations Tests Benchmarks Fuzz Examples

# Uses the debug build, and builds it if it is missing.
docs: setup
	Scripts/build-docs.sh

lifecycle: setup
	Scripts/swift.sh build --product origin-server
	Scripts/lifecycle.sh .build/debug

# Compiles SwiftNIO and BoringSSL, which nothing else here does; about four minutes. The first build is without the engine.
ADAPTER = --package-path Tests/AsyncHTTPAdapter --scratch-path .build/asynchttp
asynchttp: setup
	WITHOUT_ENGINE=1 Scripts/swift.sh build $(ADAPTER)
	Scripts/swift.sh test $(ADAPTER)
	Scripts/api.py --adapter --check

# Uses the debug build, which the tests share. `make release` builds the fast one.
demo: setup
	@echo "== building resumectl and a test origin (several minutes the first time)"
	@Scripts/swift.sh build --product resumectl
	@Scripts/swift.sh build --product origin-server
	@echo "== killing and resuming a download"
	@Scripts/demo.sh .build/debug

bench: setup-test release
	@Scripts/install.sh aria2 wget wget2 curl openssl time
	Benchmarks/bench.py .build/release/resumectl --svg .build/benchmarks.svg
	Benchmarks/segments.sh .build/release/resumectl
	Scripts/swift.sh build $(RELEASE) --product store-benchmark
	.build/release/store-benchmark

# By callgrind, so that it repeats to a percent on one machine.
count: release
	@Scripts/install.sh nginx-light valgrind binutils curl sqlite3 python3
	Benchmarks/count.sh .build/release/resumectl

SEED ?= 1
fuzz: setup
	Scripts/swift.sh build $(RELEASE) --product parser-fuzzer
	.build/release/parser-fuzzer --seed $(SEED) --count 10000000

# libFuzzer has its own main and measures which code its inputs reach.
libfuzzer: setup
	Scripts/swift.sh build --configuration release --product parser-fuzzer --sanitize=fuzzer -Xswiftc -DLIBFUZZER \
		--scratch-path .build/libfuzzer
	@mkdir -p .build/libfuzzer/corpus
	cd .build/libfuzzer && release/parser-fuzzer -max_total_time=600 -max_len=600 -timeout=10 corpus

SECONDS ?= 600
crowd: setup-test
	Scripts/swift.sh build $(RELEASE) --product resumectl
	Scripts/swift.sh build $(RELEASE) --product store-crowd
	.build/release/store-crowd --seconds $(SECONDS) --seed $(SEED)

# The debug configuration, since checks that it alone has are traps as well.
fuzz-store: setup-test
	Scripts/swift.sh build --product resumectl
	Scripts/swift.sh build --product store-fuzzer
	.build/debug/store-fuzzer --seconds $(SECONDS) --seed $(SEED)

# Mounts ext4 and XFS images in a private namespace.
SEEDS ?= 2
sweep: setup
	@Scripts/install.sh xfsprogs e2fsprogs mount util-linux
	Scripts/swift.sh build $(RELEASE) --product resumectl
	Scripts/swift.sh build $(RELEASE) --product crash-sweep
	.build/release/crash-sweep --seeds $(SEEDS)
	Scripts/swift.sh build --build-tests
	SWEEP_ALL=1 $(SWIFT) test --skip-build --filter '^ResumectlTests\.RebuildCrashTests'
	HISTORIES=10000 $(SWIFT) test --skip-build --filter '^HistoryTests\.HistoryWalkTests'

failing: setup
	Scripts/swift.sh build $(RELEASE) --product resumectl
	Scripts/swift.sh build $(RELEASE) --product crash-sweep
	.build/release/crash-sweep --failing --file-system plain

plants: setup-test
	Scripts/plant-faults.sh

clean:
	rm -rf .build
