#!/usr/bin/env bash
# Trains the same model with berth and with PyTorch, in alternating turns. The model comes from a config.json (BERT, DeBERTa and others) and
# has random weights. The data is a table of texts. Both use fp32 and batches of 32.
#
#   bash bench/peer/compare.sh PYTHON TRAIN EVAL CONFIG VOCAB [ROUNDS [STEPS]]
#
# PYTHON must have torch, transformers, tokenizers and pandas. Prints the examples per second of each round, and the medians with their
# ratio. Both programs use every core that they may use, and both count training steps only.
set -euo pipefail
cd "$(dirname "$0")/../.."
python=$1 train=$2 eval=$3 config=$4 vocab=$5 rounds=${6:-3} steps=${7:-100}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

grep -m 1 'model name' /proc/cpuinfo
build/release/berth --version
for round in $(seq "$rounds"); do
  rm -rf "$work/job"
  build/release/berth --mode train --init random --model-config "$config" --vocab-file "$vocab" --train-data-file "$train" \
    --job-dir "$work/job" --batch-size 32 --learning-rate 5e-4 --max-steps "$steps" --save-steps 0 --precision fp32 2>/dev/null
  ours=$("$python" -c "import json; print(json.load(open('$work/job/metrics.json'))['train']['examples_per_second'])")
  theirs=$("$python" bench/peer/train_torch.py --train "$train" --eval "$eval" --config "$config" --vocab "$vocab" \
    --threads "$(nproc)" --max-steps "$steps" 2>/dev/null |
    "$python" -c "import json, sys; print(json.loads(sys.stdin.readlines()[-1])['examples_per_second'])")
  printf 'round %s  berth %.0f  torch %.0f examples/s\n' "$round" "$ours" "$theirs"
  echo "$ours $theirs" >>"$work/rates"
done
"$python" - "$work/rates" <<'PYTHON'
import statistics, sys
ours, theirs = zip(*(map(float, line.split()) for line in open(sys.argv[1])))
a, b = statistics.median(ours), statistics.median(theirs)
print(f"median   berth {a:.0f}  torch {b:.0f} examples/s  ratio {a / b:.1f}")
PYTHON
