#!/usr/bin/env bash
# Cross-compiles berth for aarch64 and runs the tests that depend on the processor with qemu-user. These are the tests of the
# kernels, of the checksums and of the text code. The text code depends on the processor because char is unsigned on aarch64 unless
# the compiler is told otherwise.
#
#   bash scripts/test-aarch64.sh
set -euo pipefail
cd "$(dirname "$0")/.."

bash scripts/install-dependencies.sh --aarch64
build=$PWD/build/aarch64
sysroot=$build/sysroot
mkdir -p "$build"
if [ ! -d "$sysroot" ]; then
  # The libraries of install-dependencies.sh are only unpacked. None of their install scripts run.
  packages=(libc6-dev libstdc++-12-dev libopenblas-serial-dev libutf8proc-dev libcxxopts-dev nlohmann-json3-dev
    libcurl4-openssl-dev libssl-dev libarchive-dev zlib1g-dev libbz2-dev liblzma-dev libzstd-dev liblz4-dev nettle-dev libgtest-dev libgmock-dev)
  rm -rf "$build/partial"
  bash scripts/bootstrap-debian.sh "$build/partial" --variant=extract --arch=arm64 --include="$(IFS=,; echo "${packages[*]}")"
  mv "$build/partial" "$sysroot"
fi
cmake -S . -B "$build" -G Ninja -DCMAKE_TOOLCHAIN_FILE=cmake/aarch64.cmake -DBERTH_SYSROOT="$sysroot" -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=12 >/dev/null
cmake --build "$build" --target berth cpu_kernels_test storage_base_test text_test
run() { qemu-aarch64 -L "$sysroot" "$@"; }
run "$build/berth" --version
run "$build/tests/storage_base_test" --gtest_brief=1
run "$build/tests/text_test" --gtest_brief=1
run "$build/tests/cpu_kernels_test" --gtest_brief=1 --gtest_filter='-*avx*:*AVX*:*AMX*'
