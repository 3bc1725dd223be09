#!/bin/bash
# The compiler of the builds of swift.sh. In a debug build, the argument parser checks its declarations of all options
# 16 times for each command line, which takes longer than everything else that most tests of a command do. Here it does
# not; UsageTests look for names that are declared twice.
if [[ " $* " == *" -module-name ArgumentParser "* ]]; then
    for argument; do
        shift
        [ "$argument" = -DDEBUG ] || set -- "$@" "$argument"
    done
fi
swift=$(command -v "${SWIFT:-swift}")
exec "${swift%/*}/swiftc" "$@"
