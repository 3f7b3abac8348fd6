#!/usr/bin/env bash
# Measures how long berth and transformers' Trainer take for one update on 10,000 AG News texts from a pretrained model. The time runs
# from the start of the process to its end. It includes loading and tokenization, and for berth writing the model.
#
#   bash bench/peer/compare_startup.sh PYTHON MODEL AG_NEWS [ROUNDS]
#
# PYTHON must have torch and transformers. MODEL is a folder with config.json, tokenizer and parameters. AG_NEWS is a folder with df.pickle
# and test_head3000.csv. Prints the rows of startup_bench for both programs and the ratio of the medians.
set -euo pipefail
cd "$(dirname "$0")/../.."
python=$1 model=$2 data=$3 rounds=${4:-3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The job directory is removed before each run, because berth would resume in it.
build/release/bench/startup_bench "$rounds" bash -c 'rm -rf "$1" && exec build/release/berth --mode train --model "$2" --train-data-file "$3/df.pickle" \
  --job-dir "$1" --max-steps 1 --batch-size 16 --precision fp32' startup "$work/job" "$model" "$data" | tee "$work/ours"
build/release/bench/startup_bench "$rounds" "$python" bench/peer/trainer_tasks.py --task ag --data-dir "$data" --model "$model" \
  --output-dir "$work/trainer" --max-steps 1 | tee "$work/theirs"
median() { awk '$1 == "median" { print $2 }' "$1"; }
awk -v ours="$(median "$work/ours")" -v theirs="$(median "$work/theirs")" 'BEGIN { printf "ratio   %8.1f\n", theirs / ours }'
