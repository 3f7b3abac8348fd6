#!/usr/bin/env bash
# Installs gcp-storage-emulator from PyPI into build/emulator (its own environment) unless it is there, and
# prints the program's path.
set -euo pipefail
cd "$(dirname "$0")/.."
emulator=build/emulator

if [ ! -x $emulator/bin/gcp-storage-emulator ]; then
  /usr/bin/python3 -m venv --clear $emulator >&2
  # It imports pkg_resources, which newer setuptools no longer have.
  $emulator/bin/pip install --quiet --disable-pip-version-check 'setuptools<81' gcp-storage-emulator==2026.7.19 >&2
fi
echo "$PWD/$emulator/bin/gcp-storage-emulator"
