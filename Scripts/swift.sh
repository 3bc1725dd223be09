#!/bin/bash
# Runs SwiftPM so that an unchanged module is not compiled again. SwiftPM 6.3 passes the traits to the compiler in the
# order of a set, which changes from run to run: without this, most runs compile all of this package's modules.
# Usage: swift.sh build|package|test ARGUMENT…
exec env SWIFT_DETERMINISTIC_HASHING=1 "${SWIFT:-swift}" "$@"
