#!/bin/bash
# Builds a program that uses only ResumeStore (Tests/Linkage) and checks its dependencies: no packages of the transport,
# the engine or the command line, no libcurl, no Foundation with ICU. Then runs it. Also resolves the dependencies of a
# program with the default traits, which must include neither SwiftNIO nor BoringSSL.
# Usage: linkage.sh [SCRATCH-PATH]
set -euo pipefail
cd "$(dirname "$0")/.."
scratch=${1:-.build/store-alone}
mkdir -p "$scratch"
scratch=$(cd "$scratch" && pwd)
options=(--package-path Tests/Linkage --scratch-path "$scratch")

# Resolve again: an old file would keep packages that are no longer needed.
rm -f Tests/Linkage/Package.resolved
Scripts/swift.sh build "${options[@]}"

# The resolved dependencies and the pinned ones. The repository is listed under the name of its folder.
needed=$'swift-http-structured-headers\nswift-http-types'
resolved=$(Scripts/swift.sh package "${options[@]}" show-dependencies --format flatlist)
resolved=$(grep -vix "$(basename "$PWD")" <<<"$resolved" | sort)
pinned=$(sed -n 's/.*"identity" : "\(.*\)".*/\1/p' Tests/Linkage/Package.resolved | sort)
for packages in "$resolved" "$pinned"; do
    echo "packages: ${packages//$'\n'/ }"
    if [ "$packages" != "$needed" ]; then
        echo "ResumeStore must depend only on ${needed//$'\n'/ }" >&2
        exit 1
    fi
done

program=$scratch/debug/embedder
if [ "$(uname)" = Linux ]; then
    libraries=$(ldd "$program" | awk '{ print $1 }')
    if found=$(grep -E 'libFoundation\.so|libFoundation(Internationalization|Networking|XML)|ICU|libicu|libcurl' <<<"$libraries"); then
        echo "$program must not be linked with ${found//$'\n'/ }" >&2
        exit 1
    fi
    # Proves that ldd printed any libraries at all.
    grep -q 'libswiftCore' <<<"$libraries"
fi

# The default transport needs no package for an HTTP client.
embedding=(--package-path Examples/MediaManager --scratch-path "$scratch/resolved")
rm -f Examples/MediaManager/Package.resolved
resolved=$(Scripts/swift.sh package "${embedding[@]}" show-dependencies --format flatlist)
if found=$(grep -E 'nio|async-http|crypto|certificates' <<<"$resolved"); then
    echo "the default traits must not need ${found//$'\n'/ }" >&2
    exit 1
fi
# Proves that the dependencies were resolved.
grep -q 'swift-log' <<<"$resolved"

store=$(mktemp -d)
trap 'rm -rf "$store"' EXIT
output=$("$program" "$store/store")
echo "output of the program: $output"
[ "$output" = $'Accept-Encoding: identity true\ntrue' ]
