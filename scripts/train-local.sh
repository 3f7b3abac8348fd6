#!/usr/bin/env bash
# From a fresh clone to a fine-tuned model: installs what is missing, builds, fine-tunes the default
# model on the bundled sample, and leaves a job directory in runs/local. Run again, it goes on where
# it stopped, or says that it has finished.
#
#   bash scripts/train-local.sh [flags of berth]
set -euo pipefail
here=$PWD
cd "$(dirname "$0")/.."

bash scripts/install-dependencies.sh --build
! command -v ccache >/dev/null || export CMAKE_CXX_COMPILER_LAUNCHER=ccache
without_tests=()
[ -f build/release/CMakeCache.txt ] || without_tests=(-DBUILD_TESTING=OFF)
cmake --preset release "${without_tests[@]}" >/dev/null
cmake --build --preset release --target berth

binary=$PWD/build/release/berth
sample=$PWD/examples/data/df.pickle
job=$PWD/runs/local
cd "$here"  # paths among the flags are the caller's
previous=
for argument; do
  case $argument in --job-dir=*) job=${argument#*=} ;; esac
  [ "$previous" != --job-dir ] || job=$argument
  previous=$argument
done

# The learning rate and the epochs suit a model this small; a flag given by the caller comes last, and wins.
"$binary" --train-data-file "$sample" --job-dir "$job" \
  --epochs 5 --learning-rate 5e-4 --batch-size 16 "$@"

echo
echo "job directory: $job"
cat "$job/metrics.json"
