#!/bin/bash
# Runs the tests module by module: side by side, those that start processes would starve those that watch the clock.
# Usage: [SKIP='MODULE…'] test-modules.sh [ARGUMENT-OF-SWIFT-TEST]…
set -uo pipefail
cd "$(dirname "$0")/.."
failed=""
for folder in Tests/*Tests; do
    module=$(basename "$folder")
    case " ${SKIP:-} " in *" $module "*) continue ;; esac
    echo "== $module"
    "${SWIFT:-swift}" test --skip-build "$@" --filter "^$module\\." || failed="$failed $module"
done
[ -z "$failed" ] || { echo "failed:$failed"; exit 1; }
