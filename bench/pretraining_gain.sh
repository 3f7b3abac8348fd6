#!/usr/bin/env bash
# Measures the gain from pre-training on few labelled rows: a classifier of AG News learns from 1,000 rows. It starts from random
# parameters, from a masked language model and from a distilled encoder, with three seeds each.
#
#   bash bench/pretraining_gain.sh BERTH DATA TEACHER WORK [MLM_UPDATES [DISTILLATION_UPDATES]]
#
# DATA holds ag_news/df.pickle, ag_news/test_head3000.csv and glue/SST-2/train.tsv. TEACHER is the folder of all-MiniLM-L6-v2. WORK is a
# folder for the jobs; the script goes on there where it was. On two idle cores of an AMD EPYC (Zen 4), the default numbers of updates take
# 40 minutes for the masked language model. They take 20 minutes for the distillation, its teacher's minute included. The probes are not
# counted. Both encoders have 4 layers of 256 and a vocabulary of 8,192 pieces. They see the same texts: the texts of df.pickle and of
# SST-2's training set, without the test rows. Prints one row for each start and number of epochs, and draws the probes of both jobs in
# WORK/probes.svg.
set -euo pipefail
cd "$(dirname "$0")/.."
berth=$(realpath "$1") data=$(realpath "$2") teacher=$(realpath "$3") work=$4
mkdir -p "$work"

for source in ag_news/df.pickle glue/SST-2/train.tsv; do
  cleaned=$work/clean/${source%%/*}
  [ -s "$cleaned/cleaning_report.json" ] ||
    "$berth" --mode prepare --task mlm --record-format jsonl --train-data-file "$data/$source" --export-dir "$cleaned"
done
[ -s "$work/tokenizer/vocab.txt" ] || "$berth" --mode train_tokenizer --tokenizer-type wordpiece --vocab-size 8192 --do-lower-case \
  --train-data-file "$work/clean/*/*.jsonl" --export-dir "$work/tokenizer"
cat >"$work/config.json" <<'CONFIG'
{"architectures": ["BertModel"], "model_type": "bert", "hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4,
 "intermediate_size": 1024, "hidden_act": "gelu", "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0,
 "max_position_embeddings": 512, "type_vocab_size": 2, "layer_norm_eps": 1e-12, "pad_token_id": 0, "vocab_size": 8192}
CONFIG

# pretrain NAME UPDATES FLAGS...: one job in WORK/NAME, which is probed and evaluated eight times.
pretrain() {
  local name=$1 updates=$2
  shift 2
  [ ! -s "$work/$name/model/model.safetensors" ] || return 0
  "$berth" --task mlm --init random --model-config "$work/config.json" --vocab-file "$work/tokenizer/vocab.txt" \
    --train-data-file "$work/clean/*/*.jsonl" --validation-split 0.02 --max-seq-length 128 --batch-size 128 --epochs 1000 \
    --max-steps "$updates" --learning-rate 1e-3 --warmup-ratio 0.05 --precision bf16 --save-total-limit 2 --seed 1 \
    --probe "ag_news:$data/ag_news/df.pickle" --eval-steps $((updates / 8)) --log-format json \
    --job-dir "$work/$name" "$@" 2>>"$work/$name.log"
}
pretrain mlm "${5:-10400}" --adam-beta2 0.98 --adam-epsilon 1e-6
pretrain distilled "${6:-6200}" --teacher "$teacher"

# Fine-tuning has dropout.
sed 's/_dropout_prob": 0.0/_dropout_prob": 0.1/g' "$work/config.json" >"$work/tuning_config.json"

python3 bench/plot_probes.py "AG News: accuracy of the probes while an encoder is pre-trained" "masked LM=$work/mlm.log" \
  "distilled=$work/distilled.log" >"$work/probes.svg"

echo "| start | epochs | accuracy on the test rows | standard deviation |"
echo "| --- | --- | --- | --- |"
for start in random mlm distilled; do
  for epochs in 3 10; do
    model=$work/$start/model init=pretrained
    [ "$start" != random ] || model=$work/mlm/model init=random
    job=$work/tuned-$start-$epochs
    "$berth" --train-data-file "$data/ag_news/df.pickle" --eval-data-file "$data/ag_news/test_head3000.csv" --max-train-samples 1000 \
      --model "$model" --model-config "$work/tuning_config.json" --init $init --epochs $epochs --eval-steps 100000 --precision bf16 \
      --seed 1 --seeds 3 --job-dir "$job" 2>"$job.log"
    python3 - "$job/metrics.json" $start $epochs <<'PYTHON'
import json, sys
accuracy = json.load(open(sys.argv[1]))["seeds"]["accuracy"]
print("|", sys.argv[2], "|", sys.argv[3], f"| {accuracy['mean']:.4f} | {accuracy['std']:.4f} |", flush=True)
PYTHON
  done
done
