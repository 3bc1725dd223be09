#!/bin/bash
# Runs a command, and fails if it leaves a process or a mount behind. Lists what is left, kills the processes and
# unmounts the mounts.
# A process belongs to the command if it is in the command's process group or has its marker in the environment; a
# mount, if it is in the command's folder for temporary files.
# Usage: [PATIENCE=SECONDS] without-leaks.sh COMMAND [ARGUMENT]…
set -uo pipefail
if [ ! -r /proc/self/mountinfo ]; then
    echo "leaked processes and mounts are found on Linux only; running without the check" >&2
    exec "$@"
fi

command -v ps >/dev/null || { echo "ps is required to find leaked processes (Debian package procps)" >&2; exit 69; }

# Short, since the path of a socket has at most 107 bytes; open to all, since some programs give up being root.
TMPDIR=$(mktemp -d "${TMPDIR:-/tmp}/rXXXXXX") && chmod 755 "$TMPDIR" || exit 70
export TMPDIR
export RESUME_TEST_RUN="$$-${TMPDIR##*/}"

# Job control gives the command a process group.
set -m
"$@" &
group=$!
set +m
# The group is in the background, where a terminal that closes does not reach it.
trap 'kill -TERM -- "-$group" 2>/dev/null' HUP INT TERM
while :; do
    wait "$group"
    status=$?
    # A signal interrupts `wait` as well: continue until the command has ended.
    kill -0 "$group" 2>/dev/null || break
done

# The ids of the processes that the command started and that are still running. Zombies do not count: they have ended,
# and only wait for their parent.
leaked() {
    local pid pgid stat
    while read -r pid pgid stat; do
        case $stat in Z*) continue ;; esac
        if [ "$pgid" = "$group" ] ||
            tr '\0' '\n' 2>/dev/null <"/proc/$pid/environ" | grep -qxF "RESUME_TEST_RUN=$RESUME_TEST_RUN"; then
            # This script's own subshells inherit the marker, and have ended by now.
            [ ! -e "/proc/$pid" ] || echo "$pid"
        fi
    done <<<"$(ps -eo pid=,pgid=,stat= | grep -v "^ *$$ ")" 2>/dev/null
    return 0
}

# A process that received a signal may still be exiting; it counts only if it stays.
deadline=$((SECONDS + ${PATIENCE:-10}))
while left=$(leaked) && [ -n "$left" ] && [ $SECONDS -lt $deadline ]; do sleep 0.2; done
# Tests mount in temporary folders only. The innermost mount point comes first.
mounts_left=$(cut -d ' ' -f 5 /proc/self/mountinfo | grep -F "$TMPDIR/" | sort -r)
if [ -z "$left$mounts_left" ]; then
    echo "no process and no mount left behind"
else
    echo "error: left behind: $(wc -w <<<"$left") processes, $(grep -c . <<<"$mounts_left") mounts" >&2
    for pid in $left; do
        echo "process $pid: $(tr '\0' ' ' <"/proc/$pid/cmdline" | cut -c 1-300)" >&2
        kill -KILL "$pid" 2>/dev/null
    done
    for point in $mounts_left; do
        echo "mounted: $point" >&2
        umount "$point" 2>/dev/null
    done
    [ "$status" -ne 0 ] || status=1
fi
# Does not descend into a mount that could not be removed.
rm -rf --one-file-system "$TMPDIR"
exit "$status"
