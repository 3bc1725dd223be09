#!/bin/bash
# Compares whole processes against nginx on loopback: wall time, CPU time and peak memory as ratios to curl, and the
# bytes sent under repeated SIGKILL. Usage: compare.sh RESUMECTL [SIZE-IN-MIB] [RUNS]
set -euo pipefail
resumectl=$(realpath "$1")
mib=${2:-1024}
runs=${3:-7}
. "$(dirname "$0")/nginx.sh"
head -c $((mib << 20)) /dev/urandom >www/file
head -c $((100 << 20)) /dev/urandom >www/small
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key.pem -out cert.pem -days 2 \
    -subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1 2>/dev/null
port=$(free_port)
tls=$(free_port)
start_nginx "listen 127.0.0.1:$port; listen 127.0.0.1:$tls ssl;
    ssl_certificate cert.pem; ssl_certificate_key key.pem;
    root $folder/www;
    location /slow/ { alias $folder/www/; limit_rate 40m; }"

# One run: wall seconds, CPU seconds, peak KiB.
measure() {
    sync
    # Right before the run: a virtual machine may return freed memory to its host, and the program that uses it again
    # would pay for that.
    rm -f out
    /usr/bin/time -f '%e %U %S %M' -o time "$@" >/dev/null 2>&1
    awk '{ printf "%s %.2f %s\n", $1, $2 + $3, $4 }' time
}

run() { # program, URL
    case $1 in
    curl) measure curl -sS --cacert cert.pem -o out "$2" ;;
    wget) measure wget -q --ca-certificate cert.pem -O out "$2" ;;
    aria2c) measure aria2c -q --ca-certificate cert.pem --file-allocation=none -d . -o out "$2" ;;
    resumectl) measure "$resumectl" get -q --cacert cert.pem "$2" --output out ;;
    esac
}

compare() { # name, URL; the programs run in random order, so that all of them see the same machine state
    local name=$1 url=$2
    rm -f result.*
    for _ in $(seq "$runs"); do
        for program in $(shuf --echo curl wget aria2c resumectl); do
            run "$program" "$url" >>"result.$program"
            cmp -s out www/file || { echo "$program: wrong bytes"; exit 1; }
        done
    done
    local wall cpu
    wall=$(cut -d' ' -f1 result.curl | median)
    cpu=$(cut -d' ' -f2 result.curl | median)
    for program in curl wget aria2c resumectl; do
        awk -v name="$name" -v program="$program" -v wall="$wall" -v cpu="$cpu" \
            -v w="$(cut -d' ' -f1 result.$program | median)" -v c="$(cut -d' ' -f2 result.$program | median)" \
            -v m="$(cut -d' ' -f3 result.$program | sort -n | tail -1)" \
            'BEGIN { printf "%-6s %-10s wall %.2f  CPU %.2f  peak memory %.1f MiB\n", name, program, w / wall, c / cpu, m / 1024 }'
    done
}

echo "$mib MiB from nginx on loopback, median of $runs, as ratios to curl"
compare http "http://127.0.0.1:$port/file"
compare https "https://localhost:$tls/file"

# 100 MiB at 40 MiB/s.
url="http://127.0.0.1:$port/slow/small"
killed curl www/small curl -sS -C - -o out "$url"
killed wget www/small wget -q -c -O out "$url"
killed aria2c www/small aria2c -q -c --file-allocation=none -d . -o out "$url"
killed resumectl www/small "$resumectl" get -q "$url" --output out

# The file is replaced by another one of the same length between two runs.
changed() {
    local label=$1
    shift
    rm -rf out out.aria2 store
    head -c $((100 << 20)) /dev/urandom >www/small
    touch -d 2024-01-01 www/small
    "$@" >/dev/null 2>&1 &
    local client=$!
    sleep 1
    kill -KILL $client
    wait $client 2>/dev/null || true
    head -c $((100 << 20)) /dev/urandom >www/small
    local status=0
    "$@" >/dev/null 2>&1 || status=$?
    local verdict="WRONG BYTES"
    cmp -s out www/small && verdict="right"
    printf 'changed %-10s exit status %d, %s\n' "$label" "$status" "$verdict"
}
changed curl curl -sS -C - -o out "$url" 2>/dev/null
changed wget wget -q -c -O out "$url" 2>/dev/null
changed aria2c aria2c -q -c --file-allocation=none -d . -o out "$url" 2>/dev/null
changed resumectl "$resumectl" get -q "$url" --output out 2>/dev/null
