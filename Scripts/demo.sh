#!/bin/bash
# Demonstrates the main use in half a minute: a download is killed and then resumed. Usage: demo.sh FOLDER-OF-PROGRAMS
set -euo pipefail
programs=$(cd "$1" && pwd)
folder=$(mktemp -d)
export RESUMECTL_STORE="$folder/store"
origin=""
trap '[ -z "$origin" ] || kill "$origin" 2>/dev/null || true; rm -rf "$folder"' EXIT
size=209715200

"$programs/origin-server" --size $size --rate 60000000 >"$folder/origin.log" &
origin=$!
for _ in $(seq 100); do
    [ ! -s "$folder/origin.log" ] || break
    sleep 0.05
done
url="$(sed -n 's/^listening on //p' "$folder/origin.log")image.iso"

echo "\$ resumectl get $url        (killed with SIGKILL after 1.5 seconds)"
"$programs/resumectl" get "$url" --output "$folder/image.iso" &
client=$!
sleep 1.5
kill -KILL "$client"
wait "$client" 2>/dev/null || true
[ ! -e "$folder/image.iso" ] || { echo "the file appeared before it was complete"; exit 1; }

echo
echo "\$ resumectl list"
"$programs/resumectl" list
echo
echo "\$ resumectl get $url        (again)"
"$programs/resumectl" get "$url" --output "$folder/image.iso"

echo
kill -TERM "$origin"
wait "$origin" || true
origin=""
"$programs/origin-server" --size $size --write "$folder/expected"
sha256sum "$folder/expected" "$folder/image.iso" | sed "s|$folder/||"
cmp "$folder/expected" "$folder/image.iso"
sent=$(sed -n 's/^sent \([0-9]*\) body bytes.*/\1/p' "$folder/origin.log")
overhead=$((sent - size))
permille=$((1000 * overhead / size))
echo "the files are identical; $overhead of $size bytes ($((permille / 10)).$((permille % 10)) %) were sent twice:"
echo "those in flight when the program was killed, and 4 KiB to compare"
