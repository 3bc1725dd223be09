# Sourced by the scripts that run tests: runs bundles and extracts the relevant parts of their output.

# A crash that a test provokes must not start Swift's backtrace helper.
export SWIFT_BACKTRACE=enable=no

# Swift Testing starts all tests of a bundle at once. Each step of a test then waits for a step of all others, on a slow
# machine for minutes: deadlines pass although nothing hangs. With eight at a time, a bundle takes no longer.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=8

# Sets `runner` to the command that runs the tests of a build folder.
choose_runner() {
    runner=("$1/debug/resume-storePackageTests.xctest" --testing-library swift-testing)
    # On Apple platforms, a program of the toolchain loads the bundle.
    [ "$(uname)" = Linux ] || runner=("${SWIFT:-swift}" test --skip-build --scratch-path "$1")
}

# Prints the output of a run without colours.
plain() { sed 's/\x1b\[[0-9;]*m//g' "$1"; }

# Prints the last summary line of a run. Fails if there is none: then the process ended before its tests did.
closing_line() { plain "$1" | grep -a 'Test run with' | tail -1 | grep .; }

# Prints the failures of a run.
failures() { plain "$1" | grep -a -A 6 -E '✘|Fatal error|error:' | head -c 20000; }
