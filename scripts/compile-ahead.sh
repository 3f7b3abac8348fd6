#!/usr/bin/env bash
# Compiles training programs for a TPU v5e or an NVIDIA H100 on a machine that has neither. Prints the time of compiling, and the compiler's
# figures for memory and FLOPs. It shows that the plugin which berth pins accepts its programs, and what would fit. Each program takes up to
# a minute on two cores.
#
#   bash scripts/compile-ahead.sh tpu|cuda12|cuda13 [FOLDER]
#
#   FOLDER   where scripts/install-device-plugin.sh put the plugin; by default it is downloaded to build/device-plugin
set -euo pipefail
cd "$(dirname "$0")/.."
device=${1:-}
[ "$device" != gpu ] || device=cuda12
case $device in
  tpu) topology=v5e:2x2 file=libtpu/libtpu.so ;;
  cuda12 | cuda13) topology=h100 file=jax_plugins/xla_$device/xla_cuda_plugin.so ;;
  *)
    echo "usage: bash scripts/compile-ahead.sh tpu|cuda12|cuda13 [FOLDER]" >&2
    exit 2
    ;;
esac
folder=${2:-build/device-plugin/$device}
[ -e "$folder/$file" ] || bash scripts/install-device-plugin.sh "$device" "$folder"
bash scripts/install-dependencies.sh --build
cmake --preset release >build/compile-ahead.log
cmake --build --preset release --target compile_ahead >>build/compile-ahead.log

export TPU_SKIP_MDS_QUERY=1  # this machine is no TPU VM
if [ $topology = h100 ]; then
  folder=$(cd "$folder" && pwd)
  export LD_LIBRARY_PATH=$(printf '%s:' "$folder"/nvidia/*/lib)${LD_LIBRARY_PATH:-}
  data=$folder/nvidia/cuda_nvcc
  [ $device = cuda12 ] || data=$folder/nvidia/cu13
  export XLA_FLAGS=--xla_gpu_cuda_data_dir=$data
fi
# PRECISION MODEL BATCH LENGTH REPLICAS
shapes=("fp32 tiny 32 128 1" "bf16 tiny 32 128 1" "bf16 base 32 128 1")
[ $topology = h100 ] || shapes+=("fp32 tiny 32 128 4")
for shape in "${shapes[@]}"; do
  # shellcheck disable=SC2086
  build/release/bench/compile_ahead "$folder/$file" $topology $shape
done
