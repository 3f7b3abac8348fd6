#!/usr/bin/env bash
# Builds berth, tests its XLA engine on the TPU or GPU of this machine, measures training steps there, and prints one table. Takes
# less than ten minutes, most of it for building and downloading. Without an accelerator it does the same with XLA on the CPU.
#
#   bash scripts/test-device.sh [PLUGIN]
#
#   PLUGIN   the device's PJRT plugin; by default /lib/libtpu.so, or what scripts/install-device-plugin.sh downloads from PyPI
set -uo pipefail
cd "$(dirname "$0")/.."
work=$PWD/build/test-device
rm -rf "$work"
mkdir -p "$work"
plugin=${1:-}

fail() {
  echo "test-device: $*" >&2
  exit 1
}

if compgen -G '/dev/accel[0-9]*' >/dev/null || compgen -G '/dev/vfio/[0-9]*' >/dev/null; then
  device=tpu platform=tpu updates=60 sizes=(tiny mini base)
  [ -n "$plugin" ] || [ ! -e /lib/libtpu.so ] || plugin=/lib/libtpu.so
elif [ -e /dev/nvidiactl ]; then
  device=gpu platform=cuda updates=60 sizes=(tiny mini base)
else
  device=xla-cpu platform=cpu updates=12 sizes=(tiny)
fi

bash scripts/install-dependencies.sh --build --test || exit 1
! command -v ccache >/dev/null || export CMAKE_CXX_COMPILER_LAUNCHER=ccache
cmake --preset release -DBUILD_TESTING=ON >"$work/build.log" &&
  cmake --build --preset release --target berth xla_test >>"$work/build.log" || fail "the build failed; see $work/build.log"
berth=$PWD/build/release/berth

if [ -z "$plugin" ] && [ $device = xla-cpu ]; then
  bash scripts/install-xla-plugin.sh || exit 1
  plugin=$PWD/build/xla-plugins/pjrt-cpu-0.115.so
elif [ -z "$plugin" ]; then
  plugins=$PWD/build/device-plugin
  plugin=$(find "$plugins" -name libtpu.so -o -name xla_cuda_plugin.so 2>/dev/null | sed -n 1p)
  if [ -z "$plugin" ]; then
    bash scripts/install-device-plugin.sh $device "$plugins" || exit 1
    plugin=$(find "$plugins" -name libtpu.so -o -name xla_cuda_plugin.so | sed -n 1p)
  fi
fi
if [ $device = gpu ]; then  # berth loads these libraries itself, and the tests do not
  site=$(dirname "$(dirname "$(dirname "$plugin")")")
  export LD_LIBRARY_PATH=$(printf '%s:' "$site"/nvidia/*/lib)${LD_LIBRARY_PATH:-}
fi
on_device=(--device $device --pjrt-plugin "$plugin" --cache-dir "$work/cache")

failures=0
table=()
row() {  # row WHAT RESULT
  table+=("$(printf '%-46s %s' "$1" "$2")")
  echo "$1: $2"
}
# train NAME FLAG...: runs a job and keeps its log as NAME.log.
train() {
  local name=$1
  shift
  rm -rf "${work:?}/$name"
  timeout 150 "$berth" --job-dir "$work/$name" --logging-steps 1 --log-format json "$@" >/dev/null 2>"$work/$name.log" && return
  failures=$((failures + 1))
  row "$name" "FAILED: $(tail -n 1 "$work/$name.log")"
  return 1
}
losses() {
  sed -n 's/.*"event":"step".*"step":\([0-9]*\),.*"loss":\([0-9.e+-]*\),.*/\1 \2/p' "$work/$1.log"
}
seconds_of() {  # the clock times, in seconds, of the steps in a log
  sed -n 's/^{"time":"[^T]*T\([0-9]*\):\([0-9]*\):\([0-9.]*\)Z","event":"step".*/\1 \2 \3/p' "$work/$1.log" |
    awk '{printf "%.3f\n", 3600 * $1 + 60 * $2 + $3}'
}
use_of() {  # ", 38 % of the peak, 3.1 GiB of the device's memory", as far as the last step in a log tells
  grep '"event":"step"' "$work/$1.log" | tail -n 1 | tr ',{}' '\n' | awk -F: '
    $1 == "\"flops_utilization\"" {printf ", %.0f %% of the peak", 100 * $2}
    $1 == "\"device_peak_bytes_in_use\"" {printf ", %.1f GiB of the device'"'"'s memory", $2 / 2^30}'
}

BERTH_XLA_PLUGIN=$plugin BERTH_XLA_PLATFORM=$platform timeout 240 build/release/tests/xla_test \
  --gtest_filter='*EngineParity*:EngineBf16.*' >"$work/parity.log" 2>&1 ||
  failures=$((failures + 1))
passed=$(grep -c '^\[       OK \]' "$work/parity.log")
failed=$(grep '^\[  FAILED  \].*ms)$' "$work/parity.log" | wc -l)
row "tests beside the CPU's kernels (xla_test)" "$passed passed, $failed failed$(
  grep -q 'tests ran' "$work/parity.log" || echo '; not finished within 4 minutes')"

sample=(--train-data-file examples/data/df.pickle --max-steps 40 --batch-size 16 --max-seq-length 64 --learning-rate 1e-4)
if train cpu "${sample[@]}" --device cpu && train device "${sample[@]}" "${on_device[@]}"; then
  row "kernels" "$(sed -n 's/.*"kernels": "\(.*\)".*/\1/p' "$work/device/metrics.json")"
  losses cpu >"$work/cpu.txt"
  losses device >"$work/device.txt"
  row "largest difference of a loss, 40 updates, fp32" "$(paste "$work/cpu.txt" "$work/device.txt" |
    awk '{d = ($2 - $4) / $2; if (d < 0) d = -d; if (d > most) most = d} END {printf "%.1e of the loss\n", most}')"
  first=$(sha256sum <"$work/device/model/model.safetensors")
  if train device "${sample[@]}" "${on_device[@]}"; then
    row "the same job again" "$([ "$first" = "$(sha256sum <"$work/device/model/model.safetensors")" ] && echo 'the same bits' || echo 'other bits')"
  fi
fi

# Texts that are longer than 128 tokens, so that every row is full.
awk 'BEGIN {print "text\tlabel"; for (i = 0; i < 2048; ++i) {for (j = 0; j < 150; ++j) printf "the "; print "\t" (i % 2 ? "a" : "b")}}' >"$work/rows.tsv"
for size in "${sizes[@]}"; do
  case $size in
    tiny) shape="2 128 2 512" ;;
    mini) shape="6 384 12 1536" ;;
    base) shape="12 768 12 3072" ;;
  esac
  read -r layers hidden heads inner <<<"$shape"
  sed "s/\"num_hidden_layers\": *[0-9]*/\"num_hidden_layers\": $layers/; s/\"hidden_size\": *[0-9]*/\"hidden_size\": $hidden/
       s/\"num_attention_heads\": *[0-9]*/\"num_attention_heads\": $heads/; s/\"intermediate_size\": *[0-9]*/\"intermediate_size\": $inner/
       s/\"max_position_embeddings\": *[0-9]*/\"max_position_embeddings\": 128/" tests/testdata/tiny_model/config.json >"$work/$size.json"
  for precision in fp32 bf16; do
    name=$size-$precision
    train "$name" --mode train --train-data-file "$work/rows.tsv" --init random --model tests/testdata/tiny_model --model-config "$work/$size.json" \
      --max-steps $updates --batch-size 32 --max-seq-length 128 --save-steps 0 --precision $precision "${on_device[@]}" || continue
    row "BERT-$size, 32 x 128 tokens, $precision" "$(seconds_of "$name" | awk -v skip=$((updates / 3)) '
      NR == skip {start = $1} {end = $1} END {printf "%.1f examples/s\n", 32 * (NR - skip) / (end - start + 1e-9)}')$(use_of "$name")"
  done
done

printf '\n=== %s, %s\n' "$device" "$plugin"
printf '%s\n' "${table[@]}"
echo "failures: $failures"
[ $failures -eq 0 ]
