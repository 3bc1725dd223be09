#!/bin/bash
# Counts the instructions of `resumectl get` for a file of 16 KiB, by callgrind: the difference of lists of 2,000 and 1,000
# files from nginx, divided by 1,000. The count repeats to a percent on one machine.
# Fails if it exceeds the ceiling in instructions.txt by more than 3 %, which other versions of the libraries may cost.
# Usage: count.sh RESUMECTL [FOLDER-FOR-THE-PROFILES]
set -euo pipefail
program=$(realpath "$1")
profiles=$(realpath -m "${2:-/dev/null}")
ceiling=$(cat "$(dirname "$0")/instructions.txt")
# In memory, where a sync costs nothing.
room=$(df -k --output=avail /dev/shm 2>/dev/null | tail -n 1)
[ "${room:-0}" -lt 500000 ] || export TMPDIR=/dev/shm
. "$(dirname "$0")/nginx.sh"
port=$(free_port)
start_nginx "listen 127.0.0.1:$port; root $folder/www; keepalive_requests 100000;"
# valgrind cannot read the debugging information of Swift.
# Beside the program, since programs may not run from memory.
objcopy --strip-debug "$program" "$program.counted"
folders+=("$program.counted")
for number in $(seq 2000); do
    head -c 16384 /dev/urandom >"www/$number"
    echo "http://127.0.0.1:$port/$number"
done >list

count() { # files
    rm -rf store out
    mkdir out
    head -n "$1" list |
        valgrind --tool=callgrind --callgrind-out-file="profile.$1" "$program.counted" get -i - -P out -j 16 -q 2>"log.$1" ||
        { cat "log.$1" >&2; return 1; }
    [ "$(find out -type f | wc -l)" = "$1" ] || return 1
    awk '/Collected/ { print $NF }' "log.$1"
}
first=$(count 1000)
second=$(count 2000)
[ "$profiles" = /dev/null ] || { mkdir -p "$profiles" && cp profile.* "$profiles"; }
each=$(((second - first) / 1000))
# Those need several times as many: a machine on which a body takes 250 ms is too slow for this.
slow=$(sqlite3 store/store.sqlite "SELECT ifnull(max(seq), 0) FROM sqlite_sequence WHERE name = 'download'")
[ "$slow" = 0 ] || echo "$slow of 2000 files were handed over to the ordinary path"
echo "$each instructions for a file of 16 KiB, ceiling $ceiling; $("$program.counted" --version | head -n 1)," \
    "$(curl --version | grep -o 'libcurl/[0-9.]*'), SQLite $(sqlite3 --version | cut -d ' ' -f 1)"
[ $((each * 100)) -le $((ceiling * 103)) ] || { echo "more than the ceiling allows" >&2; exit 1; }
