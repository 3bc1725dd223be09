#!/bin/bash
# Runs the quick tests: pure decisions, the store, the engine against an origin in the same process, and the
# documentation. Leaves out tests that start programs or take long. Usage: check.sh
set -uo pipefail
cd "$(dirname "$0")/.."
bundles='(OriginServer|PartialStore|Readme|ResumeDownload|ResumeHTTP|ResumeSQLite|ResumeStore)Tests'
# Suites that take long (random input, large logs, damaged databases, several connections) or start processes (kills,
# locks, promotion).
slow='(BrokenLock|DecisionRobustness|KillPoint|Leftover|LeakCheck|LogGrowth|ParserRobustness|Promotion|Rebuild|Segment|WALReset)Tests'
export SWIFT_BACKTRACE=enable=no
log=.build/check.log
if [ "$(uname)" = Linux ]; then
    runner=(.build/debug/resume-storePackageTests.xctest --testing-library swift-testing)
else
    runner=("${SWIFT:-swift}" test --skip-build)
fi
echo "== running the quick tests; 'make test' runs all tests"
"${runner[@]}" --filter "^$bundles\\." --skip "\\.$slow[/.]" >"$log" 2>&1
status=$?
sed 's/\x1b\[[0-9;]*m//g' "$log" | grep -a -A 6 -E '✘|Fatal error|error:' | head -c 20000
sed 's/\x1b\[[0-9;]*m//g' "$log" | grep -a 'Test run with' | tail -1
exit $status
