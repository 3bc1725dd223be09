#!/bin/bash
# One file over several connections, from an nginx that limits what each connection gets: wall time of four connections
# as ratios to one and to `aria2c -x4 -s4`, and what is sent under repeated SIGKILL.
# Usage: segments.sh RESUMECTL [SIZE-IN-MIB] [RATE-OF-A-CONNECTION-IN-MIB] [RUNS]
set -euo pipefail
resumectl=$(realpath "$1")
mib=${2:-100}
rate=${3:-6}
runs=${4:-5}
folder=$(mktemp -d)
server=""
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$folder"' EXIT
cd "$folder"
mkdir www tmp
head -c $((mib << 20)) /dev/urandom >www/file
port=$(python3 -c 'import socket; s=socket.socket(); s.bind(("127.0.0.1",0)); print(s.getsockname()[1])')
cat >nginx.conf <<CONF
daemon off; master_process off; pid nginx.pid; error_log error.log;
events { worker_connections 256; }
http {
    access_log access.log; sendfile on;
    client_body_temp_path tmp/b; proxy_temp_path tmp/p; fastcgi_temp_path tmp/f; uwsgi_temp_path tmp/u; scgi_temp_path tmp/s;
    server {
        listen 127.0.0.1:$port;
        location /limited/ { alias $folder/www/; limit_rate ${rate}m; }
        location /slow/ { alias $folder/www/; limit_rate 1m; }
    }
}
CONF
nginx -p "$folder" -c "$folder/nginx.conf" 2>/dev/null &
server=$!
sleep 0.5
export RESUMECTL_STORE="$folder/store"

# In a subshell, which it takes the place of, so that it can be killed.
get() { # label, URL
    case $1 in
    one) exec "$resumectl" get -q "$2" --output out ;;
    four) exec "$resumectl" get -q --connections 4 "$2" --output out ;;
    aria2c) exec aria2c -q -c -x4 -s4 --file-allocation=none -d . -o out "$2" ;;
    esac
}
median() { sort -n | awk '{ a[NR] = $1 } END { print a[int((NR + 1) / 2)] }'; }

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
        awk -v size=$((mib << 20)) '{ sum += $10 } END { printf "%.4f\n", sum / size }' access.log >>"sent.$label"
    done
done
one=$(median <time.one)
aria=$(median <time.aria2c)
for label in one four aria2c; do
    awk -v label="$label" -v t="$(median <"time.$label")" -v one="$one" -v aria="$aria" -v sent="$(sort -n "sent.$label" | tail -1)" \
        'BEGIN { printf "%-7s %6.2f s  %.3f of one connection  %.3f of aria2c -x4 -s4  sent %.3f times the size\n", label, t / 1000, t / one, t / aria, sent }'
done

# Killed after 0.1 to 0.4 seconds, again and again, until it ends by itself: what was sent in all.
killed() { # label
    local label=$1 tries=0 client killer sent verdict
    rm -rf out out.aria2 store
    : >access.log
    while [ $tries -lt 60 ]; do
        tries=$((tries + 1))
        (get "$label" "http://127.0.0.1:$port/slow/file") >/dev/null 2>&1 &
        client=$!
        (sleep "$(awk -v seed="$RANDOM" 'BEGIN { srand(seed); printf "%.3f", 0.1 + rand() * 0.3 }')"
            kill -KILL $client 2>/dev/null) &
        killer=$!
        if wait $client 2>/dev/null; then
            kill $killer 2>/dev/null || true
            break
        fi
        wait $killer 2>/dev/null || true
    done 2>/dev/null
    verdict="never finished"
    cmp -s out www/file && verdict="right"
    sleep 0.3
    sent=$(awk -v size=$((mib << 20)) '{ sum += $10 } END { printf "%.3f", sum / size }' access.log)
    printf 'killed  %-7s %-15s after %2d runs, sent %s times the size\n' "$label" "$verdict" "$tries" "$sent"
}
killed four
killed aria2c
