#!/usr/bin/env bash
# Installs gcp-storage-emulator from PyPI into its own virtual environment, build/emulator, unless it is installed there. Prints
# the path of the program.
set -euo pipefail
cd "$(dirname "$0")/.."
emulator=build/emulator

if [ ! -x $emulator/bin/gcp-storage-emulator ]; then
  /usr/bin/python3 -m venv --clear $emulator >&2
  # The emulator imports pkg_resources, which setuptools removed in version 81.
  $emulator/bin/pip install --quiet --disable-pip-version-check 'setuptools<81' gcp-storage-emulator==2026.7.19 >&2
fi
echo "$PWD/$emulator/bin/gcp-storage-emulator"
