#!/bin/bash
# Builds the documentation of each library with DocC; a warning is an error. Usage: build-docs.sh [FOLDER]
# To read it, serve what 'docc process-archive transform-for-static-hosting' makes of an archive.
set -euo pipefail
cd "$(dirname "$0")/.."
output=${1:-.build/docs}
docc=$(command -v docc || xcrun --find docc)

swift=${SWIFT:-swift}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# Where the tests are not built, the symbols are dumped all the same, and then it fails.
"$swift" build --build-tests
"$swift" package dump-symbol-graph --minimum-access-level public --skip-synthesized-members >"$log" 2>&1 ||
    { cat "$log" >&2; exit 1; }
symbols=$(sed -n 's/^Files written to //p' "$log" | tail -1)

mkdir -p "$output"
for catalogue in Sources/*/*.docc; do
    module=$(basename "$catalogue" .docc)
    # Of one module only: what a folder of several has is documented together.
    rm -rf "$output/symbols" "$output/$module.doccarchive"
    mkdir "$output/symbols"
    cp "$symbols/$module.symbols.json" "$output/symbols/"
    "$docc" convert "$catalogue" --additional-symbol-graph-dir "$output/symbols" \
        --output-path "$output/$module.doccarchive" --fallback-display-name "$module" \
        --fallback-bundle-identifier "resume-store.$module" --warnings-as-errors >&2
    echo "$output/$module.doccarchive"
done
rm -rf "$output/symbols"
