#!/bin/bash
# Shows what each program does after a crash, when the file changes on the server, and when the disk is full: the tables
# in README.md and docs/benchmarks.md. Needs root, to mount a small file system that only this script sees.
# Usage: interruptions.sh RESUMECTL
set -euo pipefail
resumectl=$(realpath "$1")
[ -n "${MOUNTS_ARE_PRIVATE:-}" ] || MOUNTS_ARE_PRIVATE=1 exec unshare --mount "$0" "$resumectl"
. "$(dirname "$(realpath "$0")")/nginx.sh"
mkdir disk
mount -t tmpfs -o size=60m none disk
trap 'umount disk; [ -z "$server" ] || kill "$server" 2>/dev/null || true; cd /; rm -rf "${folders[@]}"' EXIT
export RESUMECTL_STORE="$folder/disk/store"
port=$(free_port)
start_nginx "listen 127.0.0.1:$port; root $folder/www; location / { limit_rate 10m; }"
url="http://127.0.0.1:$port/file"
autosave=60

get() { # program
    case $1 in
    curl) exec curl -sS -C - -o disk/out "$url" ;;
    wget) exec wget -q -c -O disk/out "$url" ;;
    aria2c) exec aria2c -q -c --auto-save-interval=$autosave -d disk -o out "$url" ;;
    resumectl) exec "$resumectl" get -q "$url" --output disk/out ;;
    esac
}

# Replaces the file on the server with random bytes.
publish() { # MiB, date
    head -c $(($1 << 20)) /dev/urandom >www/file
    touch -d "$2" www/file
}

begin() {
    rm -rf disk/*
    : >access.log
    publish 40 2024-01-01
}

kill_after_two_seconds() { # program
    (get "$1") >/dev/null 2>&1 &
    local client=$!
    sleep 2
    kill -KILL $client 2>/dev/null || true
    wait $client 2>/dev/null || true
}

run() { # case, program; runs it to its end, compares the file and prints the outcome
    local status=0 verdict="wrong bytes"
    (get "$2") >/dev/null 2>&1 || status=$?
    cmp -s disk/out www/file && verdict="right"
    [ -e disk/out ] || verdict="no file"
    printf '%-16s %-10s exit %d, %s, sent %s times the size\n' "$1" "$2" "$status" "$verdict" "$(sent www/file)"
}

for program in curl wget aria2c resumectl; do
    begin
    kill_after_two_seconds $program
    run killed $program
done

autosave=1
for size in 40 38; do
    for program in curl wget aria2c resumectl; do
        begin
        kill_after_two_seconds $program
        publish $size 2024-02-01
        run "changed, $size MiB" $program
    done
done

for program in curl wget aria2c resumectl; do
    begin
    mount -o remount,size=20m disk
    run "disk full" $program
    mount -o remount,size=60m disk
    run "and again" $program
done
