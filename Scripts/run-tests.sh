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
. Scripts/runner.sh
choose_runner "$build"
# On Apple platforms, only one runner can run at a time.
[ "$(uname)" = Linux ] || lanes=1

# The longest bundles first, so that only short ones are left at the end.
bundles=()
for bundle in ResumectlTests HostileStoreTests RealOriginTests $(basename -a Tests/*Tests); do
    case " ${ONLY:-$bundle} " in *" $bundle "*) ;; *) continue ;; esac
    case " ${SKIP:-} ${bundles[*]-} " in *" $bundle "*) continue ;; esac
    bundles+=("$bundle")
done
[ ${#bundles[@]} -gt 0 ] || { echo "no test bundle has one of these names: ${ONLY:-}" >&2; exit 64; }

run() {
    local bundle=$1 arguments=(--filter "^$1\\.") begin=$SECONDS status closing
    shift
    "${runner[@]}" "${arguments[@]}" "$@" >"$logs/$bundle.log" 2>&1 &
    trap "kill $! 2>/dev/null" TERM
    wait $!
    status=$?
    closing=$(closing_line "$logs/$bundle.log") || { status=70 closing="ended without a summary line"; }
    echo "$((SECONDS - begin)) $status" >"$logs/$bundle.result"
    echo "$bundle: $closing"
}

trap 'kill $(jobs -p) 2>/dev/null; wait; exit 130' INT TERM
echo "${#bundles[@]} bundles, $lanes at a time"
begin=$SECONDS
for bundle in "${bundles[@]}"; do
    # Versions of bash before 4.3 have no `wait -n`.
    while [ "$(jobs -pr | wc -l)" -ge "$lanes" ]; do wait -n 2>/dev/null || sleep 1; done
    rm -f "$logs/$bundle.result"
    run "$bundle" "$@" &
done
wait

echo "seconds:"
failed=()
for bundle in "${bundles[@]}"; do
    # If there is no result, the process that ran the bundle was killed.
    seconds=0 status=70
    [ ! -s "$logs/$bundle.result" ] || read -r seconds status <"$logs/$bundle.result"
    printf '%6d  %s\n' "$seconds" "$bundle"
    [ "$status" -eq 0 ] || failed+=("$bundle")
done
printf '%6d  total\n' $((SECONDS - begin))
[ ${#failed[@]} -gt 0 ] || exit 0
for bundle in "${failed[@]}"; do
    echo "== $bundle failed; its complete output is in $logs/$bundle.log"
    failures "$logs/$bundle.log"
done
exit 1
