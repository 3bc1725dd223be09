#!/bin/bash
# Runs the quick tests: pure decisions, the store, the engine against an origin in the same process, and the
# documentation. Leaves out tests that start programs or take long. Usage: check.sh
set -uo pipefail
cd "$(dirname "$0")/.."
. Scripts/runner.sh
bundles='(OriginServer|PartialStore|Readme|ResumeDownload|ResumeHTTP|ResumeSQLite|ResumeStore)Tests'
# Suites that take long (random input, samples, large logs, damaged databases, several connections) or start processes
# (kills, locks, promotion).
slow='(Adoption|BrokenLock|CollectorParts|DecisionRobustness|FetchSpotCheck|KillPoint|Leftover|LeakCheck|LogGrowth'
slow+='|MemoryModel|NukeResumableDownloads|ParserRobustness|Promotion|Rebuild|Scenario|SecretParameter|Segment|SpotCheck'
slow+='|WALReset)Tests'
log=.build/check.log
choose_runner .build
echo "== running the quick tests; 'make test' runs all tests"
"${runner[@]}" --filter "^$bundles\\." --skip "\\.$slow[/.]" >"$log" 2>&1
status=$?
failures "$log"
closing_line "$log" || status=70
exit $status
