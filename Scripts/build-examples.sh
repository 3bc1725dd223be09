#!/bin/bash
# Builds the programs of Examples, each a package of its own as whoever copies it has it, and puts links to them into
# .build/examples. They use the scratch folder of the repository, where all that they depend on lies built: what is left
# to build takes seconds. Whoever takes the store alone has a folder of his own, since what he does not need would be
# removed from the other one.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p .build/examples
for manifest in Examples/*/Package.swift; do
    folder=$(dirname "$manifest")
    name=$(basename "$folder")
    scratch=.build
    if grep -q '"\.\./\.\.", traits: \[\])' "$manifest"; then scratch=.build/store-alone; fi
    echo "== $name"
    "${SWIFT:-swift}" build --package-path "$folder" --scratch-path "$scratch"
    ln -sf "../../$scratch/debug/$name" .build/examples/
done
