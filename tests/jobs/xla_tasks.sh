#!/usr/bin/env bash
# Trains the tasks whose loss is not one of each text alone on the XLA engine, through a plugin for CPUs, and the same on the CPU's
# kernels: losses, evaluations, kills. Embeds and mines on both. Without the plugin it is skipped.
#   xla_tasks.sh BERTH
. "$(dirname "$0")/lib.sh"
. "$repository/tests/jobs/xla_lib.sh"
require_plugin "tasks on the XLA engine"
xla=($(on "$plugin") --cache-dir cache)

python3 - <<'PYTHON'
import csv, json, random
random.seed(4)
topics = ["the ball was kicked into the goal", "bread with butter and cheese", "the train left the station", "rain fell on the hills"]
def table(name, rows):
    with open(name, "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
table("scored.csv", [{"sentence1": f"{topics[i % 4]} {i}", "sentence2": topics[i // 4 % 4], "score": 0.9 if i % 4 == i // 4 % 4 else 0.2} for i in range(40)])
table("triplets.csv", [{"anchor": f"{topics[i % 4]} {i}", "positive": f"{topics[i % 4]} again {i}", "negative": topics[(i + 1) % 4]} for i in range(40)])
table("margins.csv", [{"query": f"{topics[i % 4]} {i}", "positive": f"{topics[i % 4]} again {i}", "negative": topics[(i + 1) % 4], "margin": i % 7 / 2 - 0.5} for i in range(40)])
table("pairs.csv", [{"anchor": f"{topics[i % 4]} {i}", "positive": f"{topics[i % 4]} again {i}"} for i in range(40)])
table("classes.csv", [{"text": f"{topics[i % 4]} {i}", "label": "abcd"[i % 4]} for i in range(40)])
swag = []
for number in range(40):
    endings = [f"then {other} {number}" for other in topics]
    random.shuffle(endings)
    label = next(i for i, ending in enumerate(endings) if topics[number % 4] in ending)
    swag.append({"sent1": f"first {topics[number % 4]}", "sent2": "and"} | {f"ending{i}": ending for i, ending in enumerate(endings)} | {"label": label})
table("swag.csv", swag)
with open("documents.txt", "w") as file:
    for i in range(40):
        file.writelines(f"The old river runs past number {i}, and {topics[(i + j) % 4]} {j}.\n" for j in range(1 + i % 5))
        file.write("\n")
with open("texts.jsonl", "w") as file:
    file.writelines(json.dumps({"text": f"The old river runs past number {i}, and {topics[i % 4]} in the morning."}) + "\n" for i in range(40))
PYTHON

# eval_loss JOB: the loss of the last evaluation.
eval_loss() { python3 -c 'import json, sys; print(0, json.load(open(sys.argv[1]))["eval"]["loss"])' "$1/metrics.json"; }

# compare NAME FLAG...: trains NAME-cpu on the CPU and NAME on the XLA engine, and the latter once more with kills.
common=(--precision fp32 --max-seq-length 32 --batch-size 8 --max-steps 8 --save-steps 2 --eval-steps 4 --learning-rate 5e-4
  --validation-split 0.2 --threads 2)
compare() {
  local name=$1
  shift
  train $name-cpu.log "${common[@]}" "$@" --job-dir $name-cpu --device cpu
  train $name.log "${common[@]}" "$@" --job-dir $name "${xla[@]}"
  grep -q '"kernels": "xla-cpu-fp32' $name/metrics.json || fail "$name: metrics.json does not name the engine"
  losses $name-cpu.log | sort >$name-cpu.txt
  losses $name.log | sort >$name.txt
  same_losses "training of $name" $name-cpu.txt $name.txt
  eval_loss $name-cpu >$name-cpu.txt
  eval_loss $name >$name.txt
  same_losses "evaluation of $name" $name-cpu.txt $name.txt
  survives_kills $name-killed "${common[@]}" "$@" "${xla[@]}"
  cmp -s $name/model/model.safetensors $name-killed/model/model.safetensors || fail "$name: the weights differ after kills"
}

compare scored --task similarity --train-data-file scored.csv --matryoshka-dims 128,32
grep -q '"spearman_cosine_dim_32"' scored/metrics.json || fail "scored: there are no metrics of shorter embeddings"
compare triplets --task similarity --train-data-file triplets.csv --gradient-accumulation-steps 2 --matryoshka-dims 128,32
compare cached --task similarity --train-data-file triplets.csv --embedding-mini-batch-size 3 --guide self
compare reranking --task reranking --train-data-file triplets.csv --reranking-loss lambda
compare margins --task reranking --train-data-file margins.csv --reranking-loss margin_mse
compare choices --task multiple_choice --train-data-file swag.csv
compare next --task mlm_nsp --train-data-file documents.txt --init random
sed 's/"model_type": "bert"/"model_type": "albert", "tokenizer_class": "BertTokenizer", "embedding_size": 64/; s/BertModel/AlbertModel/' "$tiny/config.json" >albert.json
compare order --task mlm_sop --train-data-file documents.txt --init random --model-config albert.json --vocab-file "$tiny/vocab.txt"
sed 's/"model_type": "bert"/"model_type": "electra", "embedding_size": 64/; s/BertModel/ElectraModel/' "$tiny/config.json" >electra.json
compare electra --task electra --train-data-file texts.jsonl --init random --model-config electra.json --vocab-file "$tiny/vocab.txt"
cmp -s electra/model/generator/model.safetensors electra-killed/model/generator/model.safetensors || fail "electra: the generator differs"
train teacher.log "${common[@]}" --train-data-file classes.csv --job-dir teacher --device cpu
compare taught --train-data-file classes.csv --teacher teacher/model

# What the programs do not compute is refused.
refused() {
  local flag=$1
  shift
  expect 2 "$flag: TPUs and GPUs" --task similarity --train-data-file triplets.csv --model "$tiny" --job-dir refused "$@" "${xla[@]}"
}
refused --train-source --train-source scored.csv
refused --guide --guide "$tiny"
refused --similarity-loss --similarity-loss margin_mse
refused --teacher --teacher "$tiny"

# same_numbers WHAT FILE FILE: fails where the numbers of lines of text differ by more than 1e-4.
same_numbers() {
  python3 - "$2" "$3" <<'PYTHON' || fail "$1 differ"
import re, sys
rows = [re.findall(r"-?\d+\.?\d*(?:e-?\d+)?", open(path).read()) for path in sys.argv[1:]]
assert len(rows[0]) == len(rows[1]) > 30, [len(row) for row in rows]
assert all(abs(float(a) - float(b)) <= 1e-4 for a, b in zip(*rows))
PYTHON
}

# Predictions, embeddings and negatives.
for device in cpu xla; do
  flags=(--device cpu)
  [ $device = cpu ] || flags=("${xla[@]}")
  for job in scored triplets choices; do
    file=$job.csv
    [ $job = choices ] && file=swag.csv
    columns=()
    [ $job = triplets ] && columns=(--text-pair-column positive)  # a prediction is of two texts
    expect 0 finished --mode predict --precision fp32 --predict-data-file $file --model $job/model --predictions-file $job-$device.tsv \
      ${columns[@]+"${columns[@]}"} "${flags[@]}"
  done
  for pooling in mean cls max; do
    expect 0 finished --mode embed --predict-data-file classes.csv --model "$tiny" --pooling $pooling --embeddings-format jsonl \
      --predictions-file $pooling-$device.jsonl "${flags[@]}"
  done
  expect 0 finished --mode mine --predict-data-file pairs.csv --model "$tiny" --mine-negatives 2 \
    --predictions-file mined-$device.jsonl "${flags[@]}"
done
for job in scored triplets choices; do same_numbers "predictions of $job" $job-cpu.tsv $job-xla.tsv; done
for pooling in mean cls max; do same_numbers "embeddings by $pooling" $pooling-cpu.jsonl $pooling-xla.jsonl; done
cmp -s mined-cpu.jsonl mined-xla.jsonl || fail "other negatives are mined"

finish
