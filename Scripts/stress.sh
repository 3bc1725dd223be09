#!/bin/bash
# Runs all tests ten times: five times on an idle machine, and five times while four processes keep its cores busy.
# Results are kept in .build/stress, in a folder for each commit, so that a second call continues where the first one was
# stopped. `make stress` builds first. To start over, remove .build/stress.
# Usage: stress.sh [IDLE-RUNS [BUSY-RUNS]]
set -uo pipefail
cd "$(dirname "$0")/.."
idle=${1:-5}
busy=${2:-5}
results=.build/stress/$(git describe --always --dirty 2>/dev/null || echo unknown)
mkdir -p "$results"

spinners=()
stop_spinning() {
    [ ${#spinners[@]} -gt 0 ] || return 0
    kill "${spinners[@]}" 2>/dev/null
    wait "${spinners[@]}" 2>/dev/null
    spinners=()
}
trap stop_spinning EXIT
trap 'exit 130' INT TERM

# Runs all tests once, unless there is already a result for this run.
run() {
    local load=$1 number=$2
    local done=$results/$load-$number.result
    if [ ! -e "$done" ]; then
        echo "run $number, $load"
        if [ "$load" = busy ]; then
            for _ in 1 2 3 4; do
                # Each ends with this script, even if the script is killed.
                (while kill -0 $$ 2>/dev/null; do for ((i = 0; i < 100000; i++)); do :; done; done) &
                spinners+=($!)
            done
        fi
        local begin=$SECONDS status
        Scripts/without-leaks.sh Scripts/run-tests.sh >"$results/$load-$number.log" 2>&1
        status=$?
        stop_spinning
        printf '%s\t%s\t%s\n' "$load" "$((SECONDS - begin))" "$status" >"$done"
        # Otherwise the next run would overwrite the logs of this failed run.
        [ $status -eq 0 ] || cp -r .build/test-logs "$results/$load-$number.logs"
    fi
    local load_ seconds status
    IFS=$'\t' read -r load_ seconds status <"$done"
    if [ "$status" -eq 0 ]; then
        echo "run $number, $load: passed after $seconds s"
    else
        echo "run $number, $load: failed after $seconds s; see $results/$load-$number.log"
        failures=$((failures + 1))
    fi
}

failures=0
# Not with `seq`, which counts from 1 down to 0 on macOS.
for ((number = 1; number <= idle; number++)); do run idle "$number"; done
for ((number = 1; number <= busy; number++)); do run busy "$number"; done
echo "$((idle + busy)) runs, $failures failed"
[ "$failures" -eq 0 ]
