#!/usr/bin/env bash
# Makes examples/model/, the model from which a job starts when it has no --model. The vocabulary, the configuration and the
# parameters are made from examples/corpus alone. The result is committed. Run this script again after the corpus or the shape of
# the model has changed.
#
#   bash scripts/make-default-model.sh [flags for the training run]
set -euo pipefail
cd "$(dirname "$0")/.."

bash scripts/install-dependencies.sh --build
cmake --preset release >/dev/null
cmake --build --preset release --target berth

venv=build/venv
[ -x $venv/bin/python ] || python3 -m venv $venv
$venv/bin/pip install --quiet tokenizers==0.23.3 safetensors==0.8.0 numpy==1.26.4
$venv/bin/python scripts/make-default-vocabulary.py

work=build/default-model
rm -rf $work
mkdir -p $work
{
  echo "text,label"
  for file in examples/corpus/*.txt; do
    awk -v label="$(basename "$file" .txt)" '{ gsub(/"/, "\"\""); printf "\"%s\",%s\n", $0, label }' "$file"
  done
} >$work/corpus.csv

build/release/berth --mode train --init random --model-config examples/model/config.json \
  --vocab-file examples/model/vocab.txt --train-data-file $work/corpus.csv --validation-split 0 \
  --job-dir $work/job --epochs 20 --batch-size 16 --learning-rate 1e-3 --seed 1 --save-steps 0 "$@"

$venv/bin/python scripts/strip-classifier.py $work/job/model/model.safetensors \
  examples/model/model.safetensors
