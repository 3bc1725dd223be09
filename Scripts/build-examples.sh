#!/bin/bash
# Builds the programs in Examples, which are separate packages, and links them into .build/examples. They share the
# scratch folder of the repository, where their dependencies are already built. Examples that use only the store have
# a separate folder, because building them would remove the other dependencies.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p .build/examples
for manifest in Examples/*/Package.swift; do
    folder=$(dirname "$manifest")
    name=$(basename "$folder")
    scratch=.build
    if grep -q '"\.\./\.\.", traits: \[\])' "$manifest"; then scratch=.build/store-alone; fi
    # Otherwise SwiftPM would reuse the plan of the package that was built there last, build nothing of this one, and
    # miss files that were added since.
    rm -f "$scratch"/debug.yaml
    # The compiler keeps the objects of a program if only the layout of a type of a library has changed.
    if [ -n "$(find "$scratch"/debug/Modules/ -name 'Resume*' -newer "$scratch/debug/$name" -print -quit 2>/dev/null)" ]
    then rm -rf "$scratch/debug/$name.build"; fi
    echo "== $name"
    Scripts/swift.sh build --package-path "$folder" --scratch-path "$scratch"
    ln -sf "../../$scratch/debug/$name" .build/examples/
done
# The next build in this folder is one of this package again.
rm -f .build/debug.yaml
