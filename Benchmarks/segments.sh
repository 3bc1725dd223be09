#!/bin/bash
# Downloads one file over several connections from an nginx that limits the rate of each connection: wall time of four
# connections as ratios to one and to `aria2c -x4 -s4`, and the bytes sent under repeated SIGKILL.
# Usage: segments.sh RESUMECTL [SIZE-IN-MIB] [RATE-OF-A-CONNECTION-IN-MIB] [RUNS]
set -euo pipefail
resumectl=$(realpath "$1")
mib=${2:-100}
rate=${3:-6}
runs=${4:-5}
. "$(dirname "$0")/nginx.sh"
head -c $((mib << 20)) /dev/urandom >www/file
port=$(free_port)
start_nginx "listen 127.0.0.1:$port;
    location /limited/ { alias $folder/www/; limit_rate ${rate}m; }
    location /slow/ { alias $folder/www/; limit_rate 1m; }"

# Replaces its subshell, so that the program itself is killed.
get() { # label, URL
    case $1 in
    one) exec "$resumectl" get -q "$2" --output out ;;
    four) exec "$resumectl" get -q --connections 4 "$2" --output out ;;
    aria2c) exec aria2c -q -c -x4 -s4 --file-allocation=none -d . -o out "$2" ;;
    esac
}

echo "$mib MiB from nginx, $rate MiB/s for each connection, median of $runs"
for _ in $(seq "$runs"); do
    for label in $(shuf --echo one four aria2c); do
        rm -rf out out.aria2
        : >access.log
        start=$(date +%s%N)
        (get "$label" "http://127.0.0.1:$port/limited/file")
        echo $((($(date +%s%N) - start) / 1000000)) >>"time.$label"
        cmp -s out www/file || { echo "$label: wrong bytes"; exit 1; }
        sleep 0.1
        echo "$(sent www/file)" >>"sent.$label"
    done
done
one=$(median <time.one)
aria=$(median <time.aria2c)
for label in one four aria2c; do
    awk -v label="$label" -v t="$(median <"time.$label")" -v one="$one" -v aria="$aria" -v sent="$(sort -n "sent.$label" | tail -1)" \
        'BEGIN { printf "%-7s %6.2f s  %.3f of one connection  %.3f of aria2c -x4 -s4  sent %.3f times the size\n", label, t / 1000, t / one, t / aria, sent }'
done

for label in four aria2c; do killed "$label" www/file get "$label" "http://127.0.0.1:$port/slow/file"; done
