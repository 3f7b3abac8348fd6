#!/usr/bin/env bash
# Trains with several workers on this machine, each a process with its part of the CPUs. They find each other by the job directory,
# as pods do that share a bucket. Without flags it trains the bundled model on the bundled sample.
#
#   bash scripts/train-cluster-local.sh WORKERS [flags of berth]
#
# The workers' output is in JOB_DIR.workers/N.log; worker 0's output is shown. Ends with the exit code of worker 0.
set -euo pipefail
here=$PWD
cd "$(dirname "$0")/.."

workers=${1:-}
[[ $workers =~ ^[1-9][0-9]*$ ]] || { echo "train-cluster-local: give the number of workers, and then flags of berth" >&2; exit 2; }
shift
binary=${BERTH:-$PWD/build/release/berth}
if [ ! -x "$binary" ]; then
  bash scripts/install-dependencies.sh --build
  cmake --preset release -DBUILD_TESTING=OFF >/dev/null
  cmake --build --preset release --target berth
fi

flags=(--train-data-file "$PWD/examples/data/df.pickle" --job-dir "$PWD/runs/cluster" --epochs 5 --batch-size 16)
job=$PWD/runs/cluster
cd "$here"  # relative paths in the flags are relative to the caller's directory
previous=
threads=$(($(nproc) / workers))
for argument; do
  case $argument in --job-dir=*) job=${argument#*=} ;; esac
  [ "$previous" != --job-dir ] || job=$argument
  previous=$argument
done
flags+=(--threads $((threads > 0 ? threads : 1)) --world-size "$workers" "$@")

logs=$job.workers
mkdir -p "$logs"
pids=()
stop_all() { [ ${#pids[@]} = 0 ] || kill -TERM "${pids[@]}" 2>/dev/null || true; }
trap stop_all TERM INT
for ((rank = 1; rank < workers; ++rank)); do
  "$binary" "${flags[@]}" --rank "$rank" >"$logs/$rank.log" 2>&1 &
  pids+=($!)
done
code=0
"$binary" "${flags[@]}" --rank 0 2> >(tee "$logs/0.log" >&2) || code=$?
for pid in "${pids[@]}"; do wait "$pid" || true; done
exit $code
