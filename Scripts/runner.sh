# Sourced by the scripts that run tests: how a bundle is run, and what of its output is shown.

# A crash that a test provokes must not start Swift's backtrace helper.
export SWIFT_BACKTRACE=enable=no

# Sets `runner` to the command that runs the tests of a build folder.
choose_runner() {
    runner=("$1/debug/resume-storePackageTests.xctest" --testing-library swift-testing)
    # On Apple platforms, a program of the toolchain loads the bundle.
    [ "$(uname)" = Linux ] || runner=("${SWIFT:-swift}" test --skip-build --scratch-path "$1")
}

# Prints the output of a run without colours.
plain() { sed 's/\x1b\[[0-9;]*m//g' "$1"; }

# Prints the last summary line of a run; fails without one: then the process ended before its tests did.
closing_line() { plain "$1" | grep -a 'Test run with' | tail -1 | grep .; }

# Prints what failed in a run.
failures() { plain "$1" | grep -a -A 6 -E '✘|Fatal error|error:' | head -c 20000; }
