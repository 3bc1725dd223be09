#!/bin/bash
# Runs the test bundles, two at a time. Prints the summary line of each bundle, and all durations at the end; the
# complete output is in BUILD/test-logs.
# Usage: [BUILD=FOLDER] [LANES=N] [ONLY='BUNDLE…'] [SKIP='BUNDLE…'] run-tests.sh [ARGUMENT-OF-THE-TEST-RUNNER]…
set -uo pipefail
cd "$(dirname "$0")/.."
build=${BUILD:-.build}
lanes=${LANES:-2}
logs=$build/test-logs
mkdir -p "$logs"
# A crash that a test provokes must not start Swift's backtrace helper.
export SWIFT_BACKTRACE=enable=no

runner=("$build/debug/resume-storePackageTests.xctest" --testing-library swift-testing)
if [ "$(uname)" != Linux ]; then
    # On Apple platforms, a program of the toolchain loads the bundle; only one can run at a time.
    runner=("${SWIFT:-swift}" test --skip-build --scratch-path "$build")
    lanes=1
fi

# The longest bundles first, so that only short ones are left at the end.
bundles=()
for bundle in ResumectlTests HostileStoreTests RealOriginTests $(basename -a Tests/*Tests); do
    case " ${ONLY:-$bundle} " in *" $bundle "*) ;; *) continue ;; esac
    case " ${SKIP:-} ${bundles[*]-} " in *" $bundle "*) continue ;; esac
    bundles+=("$bundle")
done
[ ${#bundles[@]} -gt 0 ] || { echo "no test bundle has one of these names: ${ONLY:-}" >&2; exit 64; }

plain() { sed 's/\x1b\[[0-9;]*m//g' "$logs/$1.log"; }
run() {
    local bundle=$1 arguments=(--filter "^$1\\.") begin=$SECONDS status closing
    shift
    "${runner[@]}" "${arguments[@]}" "$@" >"$logs/$bundle.log" 2>&1 &
    trap "kill $! 2>/dev/null" TERM
    wait $!
    status=$?
    closing=$(plain "$bundle" | grep -a 'Test run with' | tail -1)
    # Status 0 without a summary line: the process ended before its tests did.
    [ -n "$closing" ] || status=70
    echo "$((SECONDS - begin)) $status" >"$logs/$bundle.result"
    echo "$bundle: ${closing:-ended without a summary line}"
}

trap 'kill $(jobs -p) 2>/dev/null; wait; exit 130' INT TERM
echo "${#bundles[@]} bundles, $lanes at a time"
begin=$SECONDS
for bundle in "${bundles[@]}"; do
    # Before version 4.3, bash has no `wait -n`.
    while [ "$(jobs -pr | wc -l)" -ge "$lanes" ]; do wait -n 2>/dev/null || sleep 1; done
    rm -f "$logs/$bundle.result"
    run "$bundle" "$@" &
done
wait

echo "seconds:"
failed=()
for bundle in "${bundles[@]}"; do
    # Without a result, what ran the bundle was killed.
    seconds=0 status=70
    [ ! -s "$logs/$bundle.result" ] || read -r seconds status <"$logs/$bundle.result"
    printf '%6d  %s\n' "$seconds" "$bundle"
    [ "$status" -eq 0 ] || failed+=("$bundle")
done
printf '%6d  total\n' $((SECONDS - begin))
[ ${#failed[@]} -gt 0 ] || exit 0
for bundle in "${failed[@]}"; do
    echo "== $bundle failed; its complete output is in $logs/$bundle.log"
    plain "$bundle" | grep -a -A 6 -E '✘|Fatal error|error:' | head -c 20000
done
exit 1
