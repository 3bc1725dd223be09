#!/bin/bash
# Builds a program that takes ResumeStore alone (Tests/Linkage), and looks at what that brings along: no package of the
# transport, the engine or the command line, no Foundation with its ICU, and a program that runs.
# Usage: linkage.sh [SCRATCH-PATH]
set -euo pipefail
cd "$(dirname "$0")/.."
swift=${SWIFT:-swift}
scratch=${1:-.build/linkage}
mkdir -p "$scratch"
scratch=$(cd "$scratch" && pwd)
options=(--package-path Tests/Linkage --scratch-path "$scratch")

# Resolved anew, since it keeps what was needed once.
rm -f Tests/Linkage/Package.resolved
"$swift" build "${options[@]}"

# What the manifest leads to, and what is fetched for it. The repository itself goes by the name of its folder.
needed=$'swift-http-structured-headers\nswift-http-types'
resolved=$("$swift" package "${options[@]}" show-dependencies --format flatlist)
resolved=$(grep -vix "$(basename "$PWD")" <<<"$resolved" | sort)
pinned=$(sed -n 's/.*"identity" : "\(.*\)".*/\1/p' Tests/Linkage/Package.resolved | sort)
for packages in "$resolved" "$pinned"; do
    echo "packages: ${packages//$'\n'/ }"
    if [ "$packages" != "$needed" ]; then
        echo "ResumeStore alone needs no more than ${needed//$'\n'/ }." >&2
        exit 1
    fi
done

program=$("$swift" build "${options[@]}" --show-bin-path)/embedder
if [ "$(uname)" = Linux ]; then
    libraries=$(ldd "$program" | awk '{ print $1 }')
    if found=$(grep -E 'libFoundation\.so|libFoundation(Internationalization|Networking|XML)|ICU|libicu' <<<"$libraries"); then
        echo "The program is linked with ${found//$'\n'/ }." >&2
        exit 1
    fi
    # Else the line above would find nothing whatever there is.
    grep -q 'libswiftCore' <<<"$libraries"
fi

store=$(mktemp -d)
trap 'rm -rf "$store"' EXIT
said=$("$program" "$store/store")
echo "the program says: $said"
[ "$said" = "Accept-Encoding: identity true" ]
