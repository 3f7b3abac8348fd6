#!/usr/bin/env bash
# Makes the device kit: a folder that tests and measures berth on the TPU or GPU of another machine, which needs neither a network nor a
# compiler there. docs/devices.md says how it is used, and scripts/device_kit.py what it does.
#
#   bash scripts/device-kit.sh
#
#   build/device-kit            the folder
#   build/device-kit.tar.xz     the same, packed
#
# The folder holds:
#
#   run.py                      scripts/device_kit.py, which needs nothing but Python 3.9 and this folder
#   berth                       what scripts/package.sh makes, and the tests of the XLA engine as bin/xla_test
#   peer                        PyTorch's and JAX's training steps (bench/peer)
#   testdata                    the recorded models of the tests
#   news-lengths.txt            the lengths of AG News' texts, from trainer/model/benchmark_step.cpp
set -euo pipefail
cd "$(dirname "$0")/.."
kit=build/device-kit

bash scripts/package.sh
cmake --preset release -DBUILD_TESTING=ON >/dev/null
cmake --build --preset release --target xla_test

rm -rf "$kit" "$kit.tar.xz"
mkdir -p "$kit/peer" "$kit/testdata/architectures"
version=$(sed -n 's/^project(berth VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
cp -r "build/package/berth-$version-linux-$(uname -m)" "$kit/berth"
bash scripts/collect-program.sh build/release/tests/xla_test "$kit/berth" >/dev/null
cp scripts/device_kit.py "$kit/run.py"
cp bench/peer/step_torch.py bench/peer/step_jax.py "$kit/peer/"
tar xf tests/testdata/architectures.tar -C "$kit/testdata/architectures"
sed -n '/kNewsLengths = {/,/};/p' trainer/model/benchmark_step.cpp | sed 1d | grep -o '[0-9]\+' >"$kit/news-lengths.txt"
[ "$(wc -l <"$kit/news-lengths.txt")" = 64 ] || { echo "device-kit: the lengths of AG News' texts are not found" >&2; exit 1; }

tar --create --sort=name --owner=0 --group=0 --numeric-owner --directory build device-kit | xz -6 -T0 >"$kit.tar.xz"
size=$(stat --format %s "$kit.tar.xz")
echo "device-kit: $kit.tar.xz, $size bytes; $kit, $(du -s --apparent-size -B 1000000 "$kit" | cut -f 1) MB"
[ "$size" -le 35000000 ] || { echo "device-kit: the packed kit has more than 35 MB" >&2; exit 1; }
