#!/usr/bin/env bash
# Installs the packages of Debian or Ubuntu that berth needs. If all of them are installed, the script does nothing: it needs neither
# the network nor sudo. On a system without apt it installs nothing: it looks for the headers and the programs, and names what is
# absent.
#
#   bash scripts/install-dependencies.sh [--build] [--test] [--sanitizers] [--lint] [--image] [--package] [--container] [--aarch64] [--memory]
#
# The default is --build --test.
#
#   --build      the compiler and the libraries of the binary
#   --test       additional packages of the tests and of the format check
#   --sanitizers clang and its linker, which build the preset dev
#   --lint       additional packages of scripts/lint.sh
#   --image      additional packages of the image's build stage
#   --package    additional packages of scripts/package.sh and scripts/test-package.sh
#   --container  podman and its companions, which build and run the image when no Docker engine is installed
#   --aarch64    a cross-compiler and an emulator, which test the code paths for aarch64
#   --memory     clang, which has the MemorySanitizer of scripts/test-memory.sh
set -euo pipefail

build=(g++ cmake ninja-build
  libopenblas-serial-dev libgloo-dev libutf8proc-dev libcxxopts-dev nlohmann-json3-dev
  libcurl4-openssl-dev libssl-dev
  libarchive-dev zlib1g-dev libbz2-dev liblzma-dev libzstd-dev liblz4-dev nettle-dev)
test=(libgtest-dev libgmock-dev clang-format git procps python3-venv python3-yaml python3-jsonschema)
sanitizers=(clang-16 libclang-rt-16-dev lld)
lint=(clang-tidy)
image=(ca-certificates ccache)
package=(ca-certificates python3 xz-utils mmdebstrap openssl)
container=(podman buildah runc mmdebstrap ccache)
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
    --sanitizers) wanted+=("${sanitizers[@]}") ;;
    --memory) wanted+=("${memory[@]}") ;;
    *) fail "unknown option '$group'; the groups are --build, --test, --sanitizers, --lint, --image, --package, --container, --aarch64 and --memory" ;;
  esac
done

# Libraries of the groups --build and --test: the header, the name for pkg-config, what it is.
libraries=(
  "build|cblas.h openblas/cblas.h openblas-serial/cblas.h|openblas|OpenBLAS, also as the static library libopenblas.a without threads"
  "build|gloo/context.h||Gloo, https://github.com/facebookincubator/gloo"
  "build|utf8proc.h|libutf8proc|utf8proc"
  "build|cxxopts.hpp|cxxopts|cxxopts, 3.0 or newer"
  "build|nlohmann/json.hpp|nlohmann_json|JSON for Modern C++"
  "build|curl/curl.h|libcurl|libcurl"
  "build|openssl/evp.h|libcrypto|OpenSSL"
  "build|archive.h|libarchive|libarchive"
  "build|zlib.h|zlib|zlib"
  "build|bzlib.h|bzip2|bzip2"
  "build|lzma.h|liblzma|liblzma of XZ Utils"
  "build|zstd.h|libzstd|Zstandard"
  "build|lz4frame.h|liblz4|LZ4"
  "test|gmock/gmock.h|gmock|GoogleTest and GoogleMock")

# Names the libraries and programs of the groups that are absent, where there is no apt. Succeeds if none is absent. Without a
# compiler, it cannot look for headers and names all of them.
look_for() {
  local absent=() compiler=${CXX:-} library header headers name what group found
  [ -n "$compiler" ] || for compiler in c++ g++ clang++ ''; do command -v "$compiler" >/dev/null && break; done
  if [ -z "$compiler" ] || ! echo '#include <span>' | "$compiler" -std=c++20 -fsyntax-only -x c++ - 2>/dev/null; then
    absent+=("a compiler for C++20: GCC 11, clang 14 or newer")
  fi
  command -v cmake >/dev/null || absent+=("cmake, 3.22 or newer")
  command -v ninja >/dev/null || absent+=("ninja")
  for library in "${libraries[@]}"; do
    IFS='|' read -r group headers name what <<<"$library"
    [[ " $* " == *" --$group "* ]] || continue
    found=
    for header in $headers; do
      echo "#include <$header>" | "$compiler" -std=c++20 -E -x c++ - >/dev/null 2>&1 && found=yes
    done
    [ -n "$found" ] || absent+=("$what: the header ${headers%% *}${name:+, pkg-config $name}")
  done
  [[ " $* " != *" --lint "* ]] || command -v clang-tidy >/dev/null || absent+=("clang-tidy")
  [ ${#absent[@]} -gt 0 ] || return 0
  printf 'install-dependencies: this system has no apt. Install with its own package manager:\n' >&2
  printf '  %s\n' "${absent[@]}" >&2
  echo "Where it names a header, the package with the header is wanted, such as NAME-devel or NAME-dev." >&2
  return 1
}

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  for group; do
    case $group in
      --build | --test | --lint) ;;
      *) fail "this system has no apt, and $group is for Debian and Ubuntu; its packages there: ${wanted[*]}" ;;
    esac
  done
  look_for "$@"
  exit
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
  fail "apt-get could not install: ${missing[*]}; they are in Debian 12 and 13, and in universe of Ubuntu 22.04 and later"
