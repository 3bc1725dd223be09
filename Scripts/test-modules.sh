#!/bin/bash
# Runs the tests module by module: side by side, those that start processes would starve those that watch the clock.
# Usage: [SKIP='MODULE…'] test-modules.sh [ARGUMENT-OF-SWIFT-TEST]…
set -uo pipefail
cd "$(dirname "$0")/.."
failed=""
said=$(mktemp -d)
trap 'rm -rf "$said"' EXIT
for folder in Tests/*Tests; do
    module=$(basename "$folder")
    case " ${SKIP:-} " in *" $module "*) continue ;; esac
    echo "== $module"
    "${SWIFT:-swift}" test --skip-build "$@" --filter "^$module\\." 2>&1 | tee "$said/$module" || failed="$failed $module"
done
[ -z "$failed" ] && exit
# Again at the end, which is what a log of limited length keeps: what failed, and why.
for module in $failed; do
    echo "== $module failed"
    grep -a -A 6 -E "✘|Fatal error|error:" "$said/$module" | head -c 20000
done
exit 1
