#!/bin/sh
# Installs Debian packages that are missing; elsewhere says what is needed. Usage: install.sh PACKAGE…
set -eu
if ! command -v dpkg-query >/dev/null 2>&1; then
    echo "This needs, under your system's names for them: $*" >&2
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
# shellcheck disable=SC2086
{ $run apt-get update -qq && $run apt-get install -y -qq --no-install-recommends $missing; } >/dev/null
