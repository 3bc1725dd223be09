#!/bin/sh
# Sees to it that Python can ask a newer SQLite than the system's: apsw brings its own. A machine that cannot have it
# does without that second opinion. Usage: install-apsw.sh FOLDER
set -eu
works() { "$1" -c 'import apsw' >/dev/null 2>&1; }
if works python3 || works "$1/bin/python3"; then exit 0; fi
"$(dirname "$0")/install.sh" python3-venv
echo "installing apsw into $1"
python3 -m venv "$1"
"$1/bin/python3" -m pip install --quiet 'apsw>=3.51.3' || true
works "$1/bin/python3" || echo "apsw cannot be had here: integrity is judged by sqlite3 alone" >&2
