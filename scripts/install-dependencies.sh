#!/usr/bin/env bash
# Installs the Debian 12 packages that berth needs. If all of them are installed, the script does nothing: it needs neither the
# network nor sudo.
#
#   bash scripts/install-dependencies.sh [--build] [--test] [--lint] [--image] [--package] [--container] [--aarch64] [--memory]
#
# The default is --build --test.
#
#   --build      the compiler and the libraries of the binary
#   --test       additional packages of the tests and of the format check
#   --lint       additional packages of scripts/lint.sh
#   --image      additional packages of the image's build stage
#   --package    additional packages of scripts/package.sh
#   --container  podman and its companions, which build and run the image when no Docker engine is installed
#   --aarch64    a cross-compiler and an emulator, which test the code paths for aarch64
#   --memory     clang, which has the MemorySanitizer of scripts/test-memory.sh
set -euo pipefail

build=(g++ cmake ninja-build
  libopenblas-serial-dev libgloo-dev libutf8proc-dev libcxxopts-dev nlohmann-json3-dev
  libcurl4-openssl-dev libssl-dev
  libarchive-dev zlib1g-dev libbz2-dev liblzma-dev libzstd-dev liblz4-dev nettle-dev)
test=(libgtest-dev libgmock-dev clang-format git procps python3-venv python3-yaml python3-jsonschema)
lint=(clang-tidy)
image=(ca-certificates)
package=(ca-certificates python3 xz-utils)
container=(podman buildah runc mmdebstrap)
aarch64=(g++-aarch64-linux-gnu qemu-user mmdebstrap)
memory=(clang-14 libclang-rt-14-dev make bzip2 xz-utils)

fail() {
  echo "install-dependencies: $*" >&2
  exit 1
}

wanted=()
[ $# -gt 0 ] || set -- --build --test
for group; do
  case $group in
    --build) wanted+=("${build[@]}") ;;
    --test) wanted+=("${test[@]}") ;;
    --lint) wanted+=("${lint[@]}") ;;
    --image) wanted+=("${image[@]}") ;;
    --package) wanted+=("${package[@]}") ;;
    --container) wanted+=("${container[@]}") ;;
    --aarch64) wanted+=("${aarch64[@]}") ;;
    --memory) wanted+=("${memory[@]}") ;;
    *) fail "unknown option '$group'; the groups are --build, --test, --lint, --image, --package, --container, --aarch64 and --memory" ;;
  esac
done

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  fail "this system has no apt; install the equivalents of these Debian 12 packages: ${wanted[*]}"
fi

installed=$(dpkg-query --show --showformat='${db:Status-Status} ${Package}\n' "${wanted[@]}" \
  2>/dev/null | sed -n 's/^installed //p' || true)
missing=()
for package in "${wanted[@]}"; do
  grep -qxF "$package" <<<"$installed" || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || fail "cannot install packages: this user is not root and sudo is absent; let an administrator run: apt-get install ${missing[*]}"
  as_root=(sudo)
fi

echo "installing: ${missing[*]}" >&2
export DEBIAN_FRONTEND=noninteractive
apt=("${as_root[@]}" apt-get -qq -o Acquire::Retries=3 -o Dpkg::Use-Pty=0)
"${apt[@]}" update || fail "apt-get update failed; is the package mirror reachable?"
"${apt[@]}" install --yes --no-install-recommends "${missing[@]}" ||
  fail "apt-get could not install: ${missing[*]}; berth is built on Debian 12"
