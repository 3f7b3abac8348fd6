#!/usr/bin/env bash
# What passes before anything is learned: one update on 10,000 AG News texts from a pre-trained model by berth and by transformers' Trainer,
# from the start of the process to its end, loading, tokenization and (berth's) writing of the model included.
#
#   bash bench/peer/compare_startup.sh PYTHON MODEL AG_NEWS [ROUNDS]
#
# PYTHON is one with torch and transformers, MODEL a folder with config.json, tokenizer and parameters, AG_NEWS holds df.pickle and
# test_head3000.csv. Prints startup_bench's rows for both and the ratio of the medians.
set -euo pipefail
cd "$(dirname "$0")/../.."
python=$1 model=$2 data=$3 rounds=${4:-3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A job directory that was used would be gone on with.
build/release/bench/startup_bench "$rounds" bash -c 'rm -rf "$1" && exec build/release/berth --mode train --model "$2" --train-data-file "$3/df.pickle" \
  --job-dir "$1" --max-steps 1 --batch-size 16' startup "$work/job" "$model" "$data" | tee "$work/ours"
build/release/bench/startup_bench "$rounds" "$python" bench/peer/trainer_tasks.py --task ag --data-dir "$data" --model "$model" \
  --output-dir "$work/trainer" --max-steps 1 | tee "$work/theirs"
median() { awk '$1 == "median" { print $2 }' "$1"; }
awk -v ours="$(median "$work/ours")" -v theirs="$(median "$work/theirs")" 'BEGIN { printf "ratio   %8.1f\n", theirs / ours }'
