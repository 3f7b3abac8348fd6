#!/usr/bin/env bash
# Goes from a fresh clone to a fine-tuned model: it installs the missing packages, builds berth and fine-tunes the bundled model on
# the bundled sample. The results are in the job directory runs/local. A second run resumes an unfinished job, or says that the job
# is finished.
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
runs=$PWD/runs/local
cd "$here"  # relative paths in the flags are relative to the caller's directory

# The number of epochs suits a model of this size. The caller's flags come last and override these.
exec "$binary" --train-data-file "$sample" --job-dir "$runs" --epochs 5 --batch-size 16 "$@"
