#!/bin/sh
# Installs apsw for Python, which contains a newer SQLite than the system's. Tests use it for a second integrity check
# and skip that check where apsw cannot be installed. Usage: install-apsw.sh FOLDER
set -eu
works() { "$1" -c 'import apsw' >/dev/null 2>&1; }
if works python3 || works "$1/bin/python3"; then exit 0; fi
"$(dirname "$0")/install.sh" python3-venv
echo "installing apsw into $1"
python3 -m venv "$1"
"$1/bin/python3" -m pip install --quiet 'apsw>=3.51.3' || true
works "$1/bin/python3" || echo "cannot install apsw into $1; integrity is checked by sqlite3 only" >&2
