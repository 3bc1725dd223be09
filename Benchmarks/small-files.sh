#!/bin/bash
# Downloads many small files from nginx, as ratios to `curl --parallel`: to the file system of TMPDIR, which should be
# on a disk, and to memory, where fsync costs nothing.
# Usage: small-files.sh RESUMECTL [COUNT] [SIZE-IN-KIB] [RUNS]
set -euo pipefail
resumectl=$(realpath "$1")
count=${2:-10000}
kib=${3:-16}
runs=${4:-3}
. "$(dirname "$0")/nginx.sh"
python3 - "$count" "$kib" <<'PY'
import os, sys
for number in range(int(sys.argv[1])):
    with open(f"www/{number:05}", "wb") as file: file.write(os.urandom(int(sys.argv[2]) << 10))
PY
port=$(free_port)
start_nginx "listen 127.0.0.1:$port; keepalive_requests 100000; location / { root $folder/www; }"
(cd www && ls) | sed "s|^|http://127.0.0.1:$port/|" >urls
sed 's|.*/\(.*\)|url = "&"\noutput = "\1"|' urls >curl.list

get() { # label, folder for the files, folder of the store
    case $1 in
    curl) (cd "$2" && curl -sS --parallel --parallel-max 16 --config "$folder/curl.list") ;;
    wget2) wget2 -q --max-threads=16 -P "$2" -i urls ;;
    aria2c) aria2c -q -j16 --file-allocation=none -d "$2" -i urls ;;
    resumectl) "$resumectl" get -q -j 16 -i urls -P "$2" --store "$3" ;;
    esac
}

memory=$(mktemp -d /dev/shm/XXXXXX)
folders+=("$memory")
echo "$count files of $kib KiB from nginx, 16 at a time, median of $runs"
for place in "$folder" "$memory"; do
    name=$(stat -f -c %T "$place")
    rm -f time.*
    for _ in $(seq "$runs"); do
        for label in $(shuf --echo curl wget2 aria2c resumectl); do
            rm -rf "$place/out" "$place/store"
            mkdir "$place/out"
            sync
            start=$(date +%s%N)
            get "$label" "$place/out" "$place/store"
            echo $((($(date +%s%N) - start) / 1000000)) >>"time.$label"
            diff -rq "$place/out" www >/dev/null || { echo "$label: wrong bytes"; exit 1; }
        done
    done
    curl=$(median <time.curl)
    for label in curl wget2 aria2c resumectl; do
        awk -v name="$name" -v label="$label" -v t="$(median <"time.$label")" -v curl="$curl" -v count="$count" \
            'BEGIN { printf "%-9s %-10s %7.2f s  %7.0f files/s  %6.2f of curl --parallel\n", name, label, t / 1000, count * 1000 / t, t / curl }'
    done
done
