#!/bin/bash
# Installs the Debian package in fresh systems, uses it there, and removes it: no file may be left. Needs root and a
# mirror of Debian, by default that of this system.
# Usage: [MIRROR=URL] test-package.sh PACKAGE.deb [RELEASE…]; by default Debian 12 and the current stable release.
set -euo pipefail
package=$(realpath "$1")
shift
scripts=$(cd "$(dirname "$0")" && pwd)
releases=("$@")
[ $# -gt 0 ] || releases=(bookworm stable)
[ "$(id -u)" -eq 0 ] || { echo "test-package.sh needs root" >&2; exit 77; }
"$scripts/install.sh" debootstrap nginx-light python3
mirror=${MIRROR:-$(find /etc/apt -name '*.list' -o -name '*.sources' |
    xargs sed -nE 's/^(URIs:|deb( \[[^]]*\])?) +([^ ]*debian\/?)( .*)?$/\3/p' | sort | head -1)}
[ -n "$mirror" ] || { echo "test-package.sh: set MIRROR to a mirror of Debian" >&2; exit 64; }

folder=$(mktemp -d)
chmod 755 "$folder"
cleanup() {
    if [ -s "$folder/nginx.pid" ]; then kill "$(cat "$folder/nginx.pid")" || true; fi
    for point in "$folder"/roots/*/proc "$folder"/roots/*/dev; do
        if mountpoint -q "$point"; then umount -R "$point"; fi
    done
    rm -rf --one-file-system "$folder"
}
trap cleanup EXIT

fail() { echo "test-package.sh: $*" >&2; exit 1; }

# A server that sends a file of 60 MB in six seconds, so that a download can be killed in the middle.
mkdir -p "$folder/files" "$folder/roots"
head -c 60000000 /dev/urandom >"$folder/files/image.iso"
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
cat >"$folder/nginx.conf" <<EOF
pid $folder/nginx.pid;
error_log stderr;
events {}
http {
    access_log $folder/access.log;
    client_body_temp_path $folder/body;
    proxy_temp_path $folder/proxy;
    fastcgi_temp_path $folder/fastcgi;
    uwsgi_temp_path $folder/uwsgi;
    scgi_temp_path $folder/scgi;
    server { listen 127.0.0.1:$port; root $folder/files; limit_rate 10m; }
}
EOF
nginx -c "$folder/nginx.conf" -p "$folder"
url=http://127.0.0.1:$port/image.iso

# What a user does: the first example of the README, killed and run again.
cat >"$folder/use.sh" <<'EOF'
set -eu
cd
resumectl get "$1" &
sleep 2
kill -KILL $!
wait $! 2>/dev/null || true
[ ! -e image.iso ] || { echo "the file appeared before it was complete"; exit 1; }
resumectl list
[ "$(resumectl list | wc -l)" -eq 1 ]
resumectl show image.iso | head -3
resumectl get "$1" >path
resumectl log --reason ended-early || true
[ "$(cat path)" = "$(pwd)/image.iso" ]
resumectl doctor | head -4
resumectl gc
EOF
cat >"$folder/complete.sh" <<'EOF'
source /usr/share/bash-completion/completions/resumectl
COMP_LINE='resumectl sta' COMP_POINT=13
# Outside a completion, compopt fails.
_resumectl resumectl sta || true
[ "${COMPREPLY[*]}" = stats ]
EOF

# All files except what dpkg and apt know and the contents of mounts.
list() {
    find "$1" -xdev \( -path "$1/proc" -o -path "$1/dev" -o -path "$1/sys" -o -path "$1/tmp" -o -path "$1/home" \
        -o -path "$1/var/lib/dpkg" -o -path "$1/var/lib/apt" -o -path "$1/var/cache" -o -path "$1/var/log" \) -prune \
        -o -printf '%P %y %m\n' | sort
}

for release in "${releases[@]}"; do
    root=$folder/roots/$release
    echo "== $release"
    debootstrap --variant=minbase "$release" "$root" "$mirror" >"$folder/$release.log" 2>&1 ||
        { tail -20 "$folder/$release.log" >&2; fail "debootstrap failed"; }
    for file in /etc/resolv.conf /etc/apt/apt.conf.d/*proxy*; do
        if [ -e "$file" ]; then cp "$file" "$root$file"; fi
    done
    mount -t proc proc "$root/proc"
    mount --rbind --make-rslave /dev "$root/dev" 2>/dev/null || mount --bind /dev "$root/dev"
    run() { chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C DEBIAN_FRONTEND=noninteractive "$@"; }
    echo "Debian $(cat "$root/etc/debian_version"), $(run ldd --version | head -1)"
    run apt-get update -qq
    # The package recommends it; apt keeps it afterwards, since what it needs suggests it.
    run apt-get install -y -qq ca-certificates >/dev/null 2>&1
    run useradd --create-home user
    cp "$package" "$folder/use.sh" "$folder/complete.sh" "$root/tmp/"
    chmod 644 "$root/tmp"/*
    list "$root" >"$folder/$release.before"

    run apt install -y "/tmp/$(basename "$package")" >"$folder/$release.log" 2>&1 ||
        { cat "$folder/$release.log" >&2; fail "apt install failed"; }
    run resumectl --version
    run resumectl get --help >/dev/null
    run su user -c "sh -e /tmp/use.sh $url"
    cmp "$folder/files/image.iso" "$root/home/user/image.iso" || fail "the file is not the one of the server"
    grep -q '"GET /image.iso HTTP/1.1" 206' "$folder/access.log" || fail "the download was not resumed"
    run bash -e /tmp/complete.sh || fail "bash completes nothing"
    for page in resumectl resumectl-get resumectl-ls; do
        [ -s "$root/usr/share/man/man1/$page.1.gz" ] || fail "there is no manual page $page"
    done
    [ -s "$root/usr/lib/systemd/user/resumectl-gc.timer" ] || fail "there is no timer"
    ! find "$root/etc/systemd" -name 'resumectl*' | grep . || fail "the timer is enabled"

    { run apt-get purge -y resumectl && run apt-get autoremove --purge -y; } >"$folder/$release.log" 2>&1 ||
        { cat "$folder/$release.log" >&2; fail "the package cannot be removed"; }
    list "$root" >"$folder/$release.after"
    diff "$folder/$release.before" "$folder/$release.after" || fail "files were left, or are missing"
    echo "no file left of $(wc -l <"$folder/$release.before")"
    rm -f "$folder/access.log" && kill -USR1 "$(cat "$folder/nginx.pid")"
    umount -R "$root/dev"
    umount "$root/proc"
    rm -rf --one-file-system "$root"
done
