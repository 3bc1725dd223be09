#!/bin/sh
# Installs moto's S3 server for Python into a folder, unless Python already has it.
# Usage: install-moto.sh FOLDER
set -eu
works() { "$1" -c 'import boto3, moto.server, moto.s3.models, flask, flask_cors' >/dev/null 2>&1; }
if works python3 || works "$1/bin/python3"; then exit 0; fi
"$(dirname "$0")/install.sh" python3-venv
echo "installing moto into $1"
python3 -m venv "$1"
"$1/bin/python3" -m pip install --quiet 'moto[s3]>=5,<6' flask flask-cors
works "$1/bin/python3" || { echo "moto was installed into $1, but Python cannot import it" >&2; exit 1; }
