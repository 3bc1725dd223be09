# Shared by the comparisons with other programs. Source it: the current folder is then a new one that contains `www`
# and is removed at the end, like all `folders`.
folder=$(mktemp -d)
folders=("$folder")
server=""
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "${folders[@]}"' EXIT
cd "$folder"
mkdir www tmp
export RESUMECTL_STORE="$folder/store"

free_port() { python3 -c 'import socket; s=socket.socket(); s.bind(("127.0.0.1",0)); print(s.getsockname()[1])'; }

start_nginx() { # the content of its `server` block
    cat >nginx.conf <<CONF
daemon off; master_process off; pid nginx.pid; error_log error.log;
events { worker_connections 256; }
http {
    access_log access.log; sendfile on;
    client_body_temp_path tmp/b; proxy_temp_path tmp/p; fastcgi_temp_path tmp/f; uwsgi_temp_path tmp/u; scgi_temp_path tmp/s;
    server { $1 }
}
CONF
    nginx -p "$folder" -c "$folder/nginx.conf" 2>/dev/null &
    server=$!
    sleep 0.5
}

median() { sort -n | awk '{ a[NR] = $1 } END { print a[int((NR + 1) / 2)] }'; }

# Bytes sent since the log was emptied, as a multiple of a file's size.
sent() { awk -v size="$(stat -c %s "$1")" '{ sum += $10 } END { printf "%.3f", sum / size }' access.log; }

# Kills the command with SIGKILL after 0.1 to 0.4 seconds until a run finishes, and prints the bytes sent in total.
killed() { # label, the expected content of `out`, command…
    local label=$1 file=$2 tries=0 client killer verdict="never finished"
    shift 2
    rm -rf out out.aria2 store
    : >access.log
    while [ $tries -lt 60 ]; do
        tries=$((tries + 1))
        "$@" >/dev/null 2>&1 &
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
    cmp -s out "$file" && verdict="right"
    sleep 0.3
    printf 'killed  %-10s %-15s after %2d runs, sent %s times the size\n' "$label" "$verdict" "$tries" "$(sent "$file")"
}
