#!/bin/bash
# Runs SwiftPM so that an unchanged module is not compiled again, with the compiler of swiftc.sh. SwiftPM 6.3 passes the
# traits to the compiler in the order of a set, which changes from run to run: without this, most runs compile all of
# this package's modules.
# Usage: swift.sh build|package|test ARGUMENT…
scripts=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
swift=${SWIFT:-swift}
export SWIFT_DETERMINISTIC_HASHING=1
# SwiftPM looks for a library of the toolchain beside the compiler, whose links it follows.
library=$(dirname "$(dirname "$(command -v "$swift")")")/lib
if [ -e "$library/libIndexStore.so" ]; then
    compiler=${scripts%/*}/.build/compiler
    mkdir -p "$compiler/bin"
    ln -sfn "$library" "$compiler/lib"
    cmp -s "$scripts/swiftc.sh" "$compiler/bin/swiftc" || cp -p "$scripts/swiftc.sh" "$compiler/bin/swiftc"
    export SWIFT_EXEC=$compiler/bin/swiftc
fi
exec "$swift" "$@"
