#!/bin/bash
# Builds the documentation of each library with DocC; a warning is an error. Usage: build-docs.sh [FOLDER]
# To read an archive, convert it with 'docc process-archive transform-for-static-hosting' and serve the result.
set -euo pipefail
cd "$(dirname "$0")/.."
output=${1:-.build/docs}
docc=$(command -v docc || xcrun --find docc)

symbols=$(mktemp -d)
trap 'rm -rf "$symbols"' EXIT
Scripts/swift.sh build --build-tests
Scripts/api.py --symbols "$symbols"

mkdir -p "$output"
for catalogue in Sources/*/*.docc; do
    module=$(basename "$catalogue" .docc)
    # One module at a time: DocC documents all modules of a folder together.
    rm -rf "$output/symbols" "$output/$module.doccarchive"
    mkdir "$output/symbols"
    # The trait of the adapter is off by default.
    if [ "$module" = ResumeAsyncHTTP ]; then
        if [ ! -e .build/asynchttp/debug/Modules/ResumeAsyncHTTP.swiftmodule ]; then
            echo "build-docs.sh: left out $module; run 'make asynchttp' first to include it" >&2
            continue
        fi
        Scripts/api.py --adapter --symbols "$output/symbols"
    else
        # Together with what the module adds to the types of other modules.
        for graph in "$symbols/$module".symbols.json "$symbols/$module"@*.symbols.json; do
            [ ! -f "$graph" ] || cp "$graph" "$output/symbols/"
        done
    fi
    # ResumeStore re-exports the public types of ResumeFiles, which has no documentation.
    [ "$module" != ResumeStore ] || sed 's/"name":"ResumeFiles"/"name":"ResumeStore"/' \
        "$symbols/ResumeFiles.symbols.json" >"$output/symbols/ResumeStore-ResumeFiles.symbols.json"
    "$docc" convert "$catalogue" --additional-symbol-graph-dir "$output/symbols" \
        --output-path "$output/$module.doccarchive" --fallback-display-name "$module" \
        --fallback-bundle-identifier "resume-store.$module" --warnings-as-errors >&2
    echo "$output/$module.doccarchive"
done
rm -rf "$output/symbols"
