#!/bin/bash
# Plants each fault of Tests/PlantedFaults in the sources, one at a time, and sees whether the check that its header
# names fails. The work tree must be clean, and is restored whatever happens. Usage: plant-faults.sh [NAME]…
set -uo pipefail
cd "$(dirname "$0")/.."
swift=${SWIFT:-swift}
if ! git diff --quiet HEAD -- Sources Migrations Tests Package.swift; then
    echo "The sources differ from the last commit; a fault could not be taken out again without a doubt." >&2
    exit 64
fi
planted=""
log=$(mktemp)
restore() {
    [ -z "$planted" ] || git apply --reverse -C1 "$planted" || git checkout -- Sources
    planted=""
}
trap 'restore; rm -f "$log"' EXIT
trap 'exit 130' INT TERM

build() { "$swift" build --build-tests >"$log" 2>&1; }
check_of() { sed -n 's/^Caught by: //p' "$1"; }
# A check that hangs has failed as well.
passes() { timeout --signal=KILL 600 bash -c "$1" >"$log" 2>&1; }

patches=()
for name in "$@"; do patches+=("Tests/PlantedFaults/$name.patch"); done
[ $# -gt 0 ] || patches=(Tests/PlantedFaults/*.patch)

build || { tail -20 "$log"; exit 70; }
# What fails without a fault catches nothing.
while IFS= read -r check; do
    passes "$check" || { echo "fails without a fault: $check"; tail -20 "$log"; exit 70; }
done < <(for patch in "${patches[@]}"; do check_of "$patch"; done | sort -u)

status=0
for patch in "${patches[@]}"; do
    name=$(basename "$patch" .patch)
    check=$(check_of "$patch")
    if ! git apply -C1 "$patch"; then
        outcome="does not apply"
        status=1
    else
        planted=$patch
        if ! build; then
            outcome="does not build"
            status=1
        elif passes "$check"; then
            outcome="NOT CAUGHT"
            status=1
        else
            outcome="caught: $(grep -m 1 -oE '(order|verify finds|Expectation failed): .*|crash-sweep( --[^:]*)?: .*' "$log" | cut -c 1-150)"
        fi
    fi
    restore
    printf '%-20s %s\n' "$name" "$outcome"
done
build
exit $status
