#!/bin/sh
# Installs missing Debian packages; on other systems prints what is needed. Usage: install.sh PACKAGE…
set -eu
if ! command -v dpkg-query >/dev/null 2>&1; then
    echo "required packages (names may differ on this system): $*" >&2
    exit 0
fi
missing=""
for package in "$@"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
run=""
[ "$(id -u)" -eq 0 ] || run="sudo"
echo "installing$missing"
export DEBIAN_FRONTEND=noninteractive
# Tests start the servers themselves; installing a package must not start one.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    trap '$run rm -f "$policy"' EXIT INT TERM
    printf '#!/bin/sh\nexit 101\n' | $run tee "$policy" >/dev/null
    $run chmod 755 "$policy"
fi
# shellcheck disable=SC2086
{ $run apt-get update -qq && $run apt-get install -y -qq --no-install-recommends $missing; } >/dev/null
