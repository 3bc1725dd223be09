#!/bin/bash
# Plants each fault of Tests/PlantedFaults in the sources, one at a time, and checks that the test named in its header
# fails. The work tree must be clean and is restored at the end. Usage: plant-faults.sh [NAME]…
set -uo pipefail
cd "$(dirname "$0")/.."
if ! git diff --quiet HEAD -- Sources Migrations Tests Package.swift; then
    echo "the sources differ from the last commit; commit or stash the changes first" >&2
    exit 64
fi
planted=""
log=$(mktemp)
restore() {
    [ -z "$planted" ] || git apply --reverse -C1 "$planted" || git checkout -- Sources
    planted=""
}
trap 'restore; rm -f "$log"' EXIT
trap 'kill $(jobs -p) 2>/dev/null; wait; exit 130' INT TERM

# In the background, so that an interruption takes effect at once.
run() {
    "$@" >"$log" 2>&1 &
    wait $!
}
check_of() { sed -n 's/^Caught by: //p' "$1"; }
# Builds what a check needs: only the program, or all tests, which takes longer.
build_for() {
    case $1 in
    *crash-sweep*) run Scripts/swift.sh build --product resumectl ;;
    *) run Scripts/swift.sh build --build-tests ;;
    esac
}
# A check that hangs counts as failed.
passes() { run timeout --signal=KILL 600 bash -c "$1"; }
# The most informative line of the log.
finding() {
    grep -m 1 -oE '(Expectation failed|order|verify finds|undisturbed): .*|--(no-)?power-cut: .*' "$log" ||
        grep -m 1 -v '^ *$' "$log"
}

patches=()
for name in "$@"; do patches+=("Tests/PlantedFaults/$name.patch"); done
[ $# -gt 0 ] || patches=(Tests/PlantedFaults/*.patch)

run Scripts/swift.sh build --build-tests || { tail -20 "$log"; exit 70; }
# A check that fails without a fault proves nothing.
while IFS= read -r check; do
    passes "$check" || { echo "check fails without a planted fault: $check"; tail -20 "$log"; exit 70; }
done < <(for patch in "${patches[@]}"; do check_of "$patch"; done | sort -u)

status=0
for patch in "${patches[@]}"; do
    name=$(basename "$patch" .patch)
    check=$(check_of "$patch")
    planted=$patch
    if ! git apply -C1 "$patch"; then
        planted=""
        outcome="does not apply"
        status=1
    else
        if ! build_for "$check"; then
            outcome="does not build"
            status=1
        elif passes "$check"; then
            outcome="NOT CAUGHT"
            status=1
        else
            outcome="caught: $(finding | cut -c 1-150)"
        fi
    fi
    restore
    printf '%-20s %s\n' "$name" "$outcome"
done
run Scripts/swift.sh build --build-tests
exit $status
