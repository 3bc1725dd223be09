#!/bin/bash
# Builds the program in Tests/QueueService, in which a service group runs a queue, and checks that it ends on SIGTERM
# and that the next process completes what is left. Usage: lifecycle.sh FOLDER-OF-PROGRAMS
set -euo pipefail
cd "$(dirname "$0")/.."
programs=$(cd "$1" && pwd)
# A separate scratch folder, because other traits would compile all modules again.
Scripts/swift.sh build --package-path Tests/QueueService --scratch-path .build/lifecycle

folder=$(mktemp -d)
origin="" service=""
trap '[ -z "$origin" ] || kill "$origin" 2>/dev/null || true
    [ -z "$service" ] || kill -KILL "$service" 2>/dev/null || true; rm -rf "$folder"' EXIT
size=20000000

# Waits until a command succeeds, at most a minute.
await() {
    for _ in $(seq 600); do
        if "$@"; then return; fi
        sleep 0.1
    done
    echo "lifecycle.sh: timed out: $*" >&2
    cat "$folder"/*.log >&2
    exit 1
}

start_origin() {
    : >"$folder/origin.log"
    "$programs/origin-server" --size $size "$@" >"$folder/origin.log" &
    origin=$!
    await [ -s "$folder/origin.log" ]
    url="$(sed -n 's/^listening on //p' "$folder/origin.log")file"
}

stop_origin() {
    kill -TERM "$origin"
    wait "$origin" || true
    origin=""
}

start_service() {
    .build/lifecycle/debug/queue-service "$folder/store" "$@" >"$folder/service.log" 2>&1 &
    service=$!
}

stop_service() {
    kill -TERM "$service"
    # Not 0 if the signal itself has ended the process.
    wait "$service" || { echo "lifecycle.sh: the service ended with status $?" >&2; exit 1; }
    service=""
    grep -q '^closed$' "$folder/service.log"
}

has_received() { [ -n "$(find "$folder/store" -type f -size +2000k 2>/dev/null)" ]; }

# Slow enough that the whole file takes 20 seconds.
start_origin --rate 1000000
start_service "$url" "$folder/file"
await has_received
stop_service
[ ! -e "$folder/file" ] || { echo "the file appeared before it was complete"; exit 1; }
port=${url##*:}
stop_origin

start_origin --port "${port%%/*}"
start_service
await [ -e "$folder/file" ]
stop_service
grep 'reusedBytes: [1-9]' "$folder/service.log"
stop_origin

"$programs/origin-server" --size $size --write "$folder/expected"
cmp "$folder/expected" "$folder/file"
echo "SIGTERM has closed the queue, and the next process has completed the download"
