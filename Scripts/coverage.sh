#!/bin/bash
# Measures which lines and regions of Sources the tests execute, and fails below the goal. Every process writes its own
# profile, so that a killed child does not damage the profiles of others. Unexecuted lines are listed in
# .build/coverage/unexecuted.txt, one range per line.
# Usage: [ONLY='BUNDLE…'] coverage.sh [--report]
#   ONLY: measures these bundles again, and keeps the profiles of the others; --report: only reads the profiles again
set -euo pipefail
cd "$(dirname "$0")/.."
build=$PWD/.build/coverage
profiles=$build/profiles
goal_lines=98
goal_regions=96
status=0
# The tools of the compiler: other versions cannot read its profiles.
compiler=$(readlink -f "$(command -v "${SWIFT:-swift}")")
tool() {
    if [ -x "${compiler%/*}/$1" ]; then echo "${compiler%/*}/$1"; else xcrun --find "$1" 2>/dev/null || command -v "$1"; fi
}
profdata=$(tool llvm-profdata)
cov=$(tool llvm-cov)

if [ "${1:-}" != --report ]; then
    echo "building with coverage"
    Scripts/swift.sh build --build-tests --enable-code-coverage --scratch-path "$build"
    [ -n "${ONLY:-}" ] || rm -rf "$profiles"
    mkdir -p "$profiles"
    # Some tests run programs as another user.
    chmod 1777 "$profiles"
    # Runs a bundle and merges the profiles of its processes into one.
    measure() {
        local bundle=$1 name=$2
        shift 2
        # %p: one profile per process; %m: one per program, in case a process id is used again.
        LLVM_PROFILE_FILE="$profiles/$name-%p-%m.profraw" \
            BUILD="$build" ONLY="$bundle" Scripts/without-leaks.sh Scripts/run-tests.sh "$@" ||
            { echo "error: $bundle failed; the lines that it executed still count" >&2; status=1; }
        # Some bundles start thousands of processes: their profiles are merged before the next bundle starts.
        # A process that was killed while writing leaves a damaged profile, which is skipped.
        find "$profiles" -name "$name-*.profraw" >"$profiles/$name.list"
        "$profdata" merge -sparse --failure-mode=all -f "$profiles/$name.list" -o "$profiles/$name.profdata" \
            2>"$profiles/$name.warnings" || { cat "$profiles/$name.warnings" >&2; exit 1; }
        find "$profiles" -name "$name-*.profraw" -delete
    }
    for bundle in ${ONLY:-$(basename -a Tests/*Tests)}; do
        measure "$bundle" "$bundle"
        # The engine's tests on URLSession, as `make urlsession` runs them.
        [ "$bundle" != ResumeDownloadTests ] || TEST_URLSESSION=1 measure "$bundle" "$bundle+URLSession" --no-parallel
    done
fi

"$profdata" merge -sparse "$profiles"/*.profdata -o "$build/all.profdata"
programs=()
for program in resumectl queue-runner promoter; do programs+=(-object "$build/debug/$program"); done
arguments=("$build/debug/resume-storePackageTests.xctest" "${programs[@]}" -instr-profile "$build/all.profdata")
"$cov" report "${arguments[@]}" Sources >"$build/report.txt" 2>"$build/report.errors"
"$cov" export "${arguments[@]}" -format=lcov Sources 2>>"$build/report.errors" |
    awk -F '[:,]' -v root="$PWD/" '
        function flush() { if (first) print file ":" first (last > first ? "-" last : ""); first = 0 }
        /^SF:/ { file = substr($0, 4); sub(root, "", file) }
        /^DA:/ { if ($3 == 0) { if (first && $2 == last + 1) last = $2; else { flush(); first = last = $2 } } else flush() }
        /^end_of_record/ { flush() }' >"$build/unexecuted.txt"

awk '$1 ~ /\.(swift|c|h)$/ && $4 + 0 < 96 { printf "%8s of regions, %8s of lines  %s\n", $4, $10, $1 }' "$build/report.txt"
awk -v lines=$goal_lines -v regions=$goal_regions '
    $1 == "TOTAL" {
        printf "%s of regions (goal %s %%), %s of lines (goal %s %%)\n", $4, regions, $10, lines
        exit !($4 + 0 >= regions && $10 + 0 >= lines)
    }' "$build/report.txt" || status=1
exit $status
