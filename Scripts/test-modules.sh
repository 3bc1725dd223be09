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
    # Its tests count what was sent until a process was killed, which depends on how fast that could work.
    one_by_one=()
    [ "$module" = ResumectlTests ] && one_by_one=(--no-parallel)
    echo "== $module"
    "${SWIFT:-swift}" test --skip-build "${one_by_one[@]}" "$@" --filter "^$module\\." 2>&1 | tee "$said/$module" || failed="$failed $module"
done
[ -z "$failed" ] && exit
# Again at the end, which is what a log of limited length keeps: what failed, and why.
for module in $failed; do
    echo "== $module failed"
    grep -a -A 6 -E "✘|Fatal error|error:" "$said/$module" | head -c 20000
done
exit 1
