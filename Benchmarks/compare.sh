#!/bin/bash
# Whole processes against nginx on loopback: wall time, CPU time and peak memory as ratios to curl, and what is sent
# under repeated SIGKILL. Usage: compare.sh RESUMECTL [SIZE-IN-MIB] [RUNS]
set -euo pipefail
resumectl=$(realpath "$1")
mib=${2:-1024}
runs=${3:-7}
folder=$(mktemp -d)
server=""
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$folder"' EXIT
cd "$folder"
mkdir www tmp
head -c $((mib << 20)) /dev/urandom >www/file
head -c $((100 << 20)) /dev/urandom >www/small
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key.pem -out cert.pem -days 2 \
    -subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1 2>/dev/null
port=$(python3 -c 'import socket; s=socket.socket(); s.bind(("127.0.0.1",0)); print(s.getsockname()[1])')
tls=$(python3 -c 'import socket; s=socket.socket(); s.bind(("127.0.0.1",0)); print(s.getsockname()[1])')
cat >nginx.conf <<CONF
daemon off; master_process off; pid nginx.pid; error_log error.log;
events { worker_connections 256; }
http {
    access_log access.log; sendfile on;
    client_body_temp_path tmp/b; proxy_temp_path tmp/p; fastcgi_temp_path tmp/f; uwsgi_temp_path tmp/u; scgi_temp_path tmp/s;
    server {
        listen 127.0.0.1:$port; listen 127.0.0.1:$tls ssl;
        ssl_certificate cert.pem; ssl_certificate_key key.pem;
        root $folder/www;
        location /slow/ { alias $folder/www/; limit_rate 40m; }
    }
}
CONF
nginx -p "$folder" -c "$folder/nginx.conf" 2>/dev/null &
server=$!
sleep 0.5
export RESUMECTL_STORE="$folder/store"

# One run: wall seconds, CPU seconds, peak KiB.
measure() {
    sync
    # Right before the run: a virtual machine may have given freed memory back to its host after a while, and the one
    # that takes it again pays for that.
    rm -f out
    /usr/bin/time -f '%e %U %S %M' -o time "$@" >/dev/null 2>&1
    awk '{ printf "%s %.2f %s\n", $1, $2 + $3, $4 }' time
}
median() { sort -n | awk '{ a[NR] = $1 } END { print a[int((NR + 1) / 2)] }'; }

run() { # program, URL
    case $1 in
    curl) measure curl -sS --cacert cert.pem -o out "$2" ;;
    wget) measure wget -q --ca-certificate cert.pem -O out "$2" ;;
    aria2c) measure aria2c -q --ca-certificate cert.pem --file-allocation=none -d . -o out "$2" ;;
    resumectl) measure "$resumectl" get -q --cacert cert.pem "$2" --output out ;;
    esac
}

compare() { # name, URL; all programs in turn, so that they meet the same machine, each after any other one
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

# 100 MiB at 40 MiB/s, SIGKILL after 0.1 to 0.35 seconds, again and again: what was sent in all.
resume() { # label, command…
    local label=$1 tries=0
    shift
    rm -rf out out.aria2 store
    : >access.log
    while [ $tries -lt 60 ]; do
        tries=$((tries + 1))
        "$@" >/dev/null 2>&1 &
        local client=$!
        local wait_for
        wait_for=$(awk -v seed="$RANDOM" 'BEGIN { srand(seed); printf "%.3f", 0.1 + rand() * 0.25 }')
        (sleep "$wait_for"; kill -KILL $client 2>/dev/null) &
        local killer=$!
        if wait $client 2>/dev/null; then
            kill $killer 2>/dev/null || true
            break
        fi
        wait $killer 2>/dev/null || true
    done 2>/dev/null
    local verdict="never finished"
    cmp -s out www/small && verdict="right"
    sleep 0.3
    local sent
    sent=$(awk '{ sum += $10 } END { printf "%.2f", sum / (100 * 1048576) }' access.log)
    printf 'killed %-10s %-15s after %2d runs, sent %s times the size\n' "$label" "$verdict" "$tries" "$sent"
}
url="http://127.0.0.1:$port/slow/small"
resume curl curl -sS -C - -o out "$url"
resume wget wget -q -c -O out "$url"
resume aria2c aria2c -q -c --file-allocation=none -d . -o out "$url"
resume resumectl "$resumectl" get -q "$url" --output out

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
