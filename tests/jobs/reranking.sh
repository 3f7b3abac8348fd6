#!/usr/bin/env bash
# Trains cross-encoders, resumes after kills, with workers, and checks what is exported and predicted.
#   reranking.sh BERTH
. "$(dirname "$0")/lib.sh"
. "$repository/tests/jobs/workers_lib.sh"

# Twelve queries with five passages each, as labelled pairs, and as rows with negatives.
python3 - <<'PYTHON'
import json, random
random.seed(6)
topics = ["the ball was kicked into the goal", "bread with butter and cheese", "the train left the station", "rain fell on the hills"]
with open("pairs.tsv", "w") as pairs, open("lists.csv", "w") as lists, open("flag.jsonl", "w") as flag:
    print("query\tpassage\tlabel", file=pairs)
    print("query,positive,negative_1,negative_2,negative_3,negative_4", file=lists)
    for number in range(24):
        topic = topics[number % 4]
        query = f"tell me of {topic} {number}"
        passages = [f"{topic} again {number}"] + [f"{random.choice([t for t in topics if t != topic])} {number} {i}" for i in range(4)]
        for i, passage in enumerate(passages):
            print(query, passage, int(i == 0), sep="\t", file=pairs)
        print(query, *passages, sep=",", file=lists)
        print(json.dumps({"query": query, "pos": passages[:1], "neg": passages[1:], "pos_scores": [1.0], "neg_scores": [0.1, -2, number % 5, 0.5]}), file=flag)
PYTHON

# metric FILE NAME: the value of a metric in a file of JSON.
metric() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["eval"][sys.argv[2]])' "$@"; }

# Labelled pairs. The ranking chooses the best checkpoint, and the report shows the worst queries.
pairs=(--task reranking --train-data-file pairs.tsv --validation-split 0.3 --epochs 4 --batch-size 8 --eval-steps 10 --save-steps 10
  --max-seq-length 32 --seed 3)
expect 0 finished "${pairs[@]}" --job-dir pairs
for name in ndcg_at_10 mrr_at_10 map; do metric pairs/metrics.json $name >/dev/null || fail "metrics.json lacks $name"; done
tr -d '\\' <err.txt | says 'held-out ndcg_at_10 .* of [0-9]* queries with [0-9]* passages' || fail "does not name the main metric at the end"
grep -q '"task": "reranking"' pairs/metrics.json || fail "task of pairs"
for file in modules.json sentence_bert_config.json config_sentence_transformers.json tokenizer.json; do
  [ -s "pairs/model/$file" ] || fail "no $file"
done
grep -q '"activation_fn": "torch.nn.modules.activation.Sigmoid"' pairs/model/config_sentence_transformers.json || fail "no sigmoid"
grep -q 'CrossEncoder(path)' pairs/model/README.md || fail "the card does not say how to load the model"

# The finished model evaluates and ranks as it was trained, without being told how.
expect 0 finished --mode eval --eval-data-file pairs.tsv --job-dir pairs
grep -q '"ndcg_at_10"' out.txt || fail "eval ranks nothing: $(cat out.txt)"
expect 0 finished --mode eval --eval-data-file lists.csv --job-dir pairs
expect 0 finished --mode predict --predict-data-file pairs.tsv --model pairs/model --max-seq-length 32 --predictions-file ranks.tsv
python3 - <<'PYTHON' || fail "scores and ranks"
import collections, csv
rows = list(csv.DictReader(open("pairs.tsv"), delimiter="\t"))
found = list(csv.DictReader(open("ranks.tsv"), delimiter="\t"))
lists = collections.defaultdict(list)
for row, line in zip(rows, found, strict=True):
    assert 0 <= float(line["score"]) <= 1
    lists[row["query"]].append((int(line["rank"]), float(line["score"])))
assert len(lists) == 24
for ranked in lists.values():
    assert [rank for rank, _ in sorted(ranked)] == [1, 2, 3, 4, 5], ranked
    assert [score for _, score in sorted(ranked)] == sorted((score for _, score in ranked), reverse=True), ranked
PYTHON

# Rows with negatives, with every loss. FlagEmbedding's lists are the same rows.
for loss in bce mse softmax lambda; do
  expect 0 finished --task reranking --train-data-file lists.csv --reranking-loss $loss --max-steps 6 --batch-size 4 --max-seq-length 32 \
    --validation-split 0.3 --job-dir "loss-$loss"
  metric "loss-$loss/metrics.json" ndcg_at_10 >/dev/null || fail "$loss ranks nothing"
done
grep -q 'linear.Identity' loss-mse/model/config_sentence_transformers.json || fail "mse learns a number, and no probability"
expect 0 finished --mode export_only --job-dir loss-mse --export-dir exported
for file in config.json config_sentence_transformers.json; do
  cmp -s "loss-mse/model/$file" "exported/$file" || fail "export_only writes another $file"
done
expect 0 finished --mode eval --eval-data-file lists.csv --job-dir loss-softmax
cp out.txt lists.json
expect 0 finished --mode eval --eval-data-file pairs.tsv --job-dir loss-softmax
python3 - <<'PYTHON' || fail "labelled pairs are ranked otherwise than rows with negatives"
import json
one, two = (json.load(open(name))["eval"] for name in ("lists.json", "out.txt"))
assert all(abs(one[name] - two[name]) < 1e-9 for name in ("ndcg_at_10", "mrr_at_10", "map")), (one, two)
PYTHON
expect 0 finished --mode predict --predict-data-file pairs.tsv --job-dir loss-softmax
head -n 1 loss-softmax/predictions.tsv | says $'^id\tscore\trank$' || fail "header of predictions"
expect 0 finished --task reranking --train-data-file flag.jsonl --reranking-loss softmax --max-steps 6 --batch-size 4 --max-seq-length 32 \
  --validation-split 0.3 --job-dir flag
cmp -s flag/model/model.safetensors loss-softmax/model/model.safetensors || fail "lists in JSON lines train another model"

# A teacher's scores. The model scores rows with them and without them; the first passage stays the right one.
margins=(--task reranking --train-data-file flag.jsonl --reranking-loss margin_mse --epochs 2 --batch-size 4 --save-steps 4 --max-seq-length 32
  --validation-split 0.3)
expect 0 finished "${margins[@]}" --job-dir margins
says -F "a teacher's scores: column" <err.txt || fail "does not say where scores are: $(cat err.txt)"
metric margins/metrics.json ndcg_at_10 >/dev/null || fail "margin_mse ranks nothing"
grep -q 'linear.Identity' margins/model/config_sentence_transformers.json || fail "margin_mse learns a number, and no probability"
expect 0 finished --mode eval --eval-data-file flag.jsonl --job-dir margins
cp out.txt scored.json
for file in lists.csv pairs.tsv; do
  expect 0 finished --mode eval --eval-data-file $file --job-dir margins
  python3 - <<'PYTHON' || fail "rows of $file without scores are ranked otherwise, or have the same loss"
import json
one, two = (json.load(open(name))["eval"] for name in ("scored.json", "out.txt"))
assert all(abs(one[name] - two[name]) < 1e-9 for name in ("ndcg_at_10", "mrr_at_10", "map")) and one["loss"] != two["loss"], (one, two)
PYTHON
done
survives_kills killed-margins "${margins[@]}"
cmp -s margins/model/model.safetensors killed-margins/model/model.safetensors || fail "a killed job made another model of scores"
expect 3 "no column has a usual name for a teacher's scores" --task reranking --train-data-file lists.csv --reranking-loss margin_mse --job-dir refused5
expect 3 "the rows have one" --task reranking --train-data-file pairs.tsv --reranking-loss margin_mse --job-dir refused6

# A job that is killed makes the same model, from both kinds of rows.
survives_kills killed "${pairs[@]}"
cmp -s pairs/model/model.safetensors killed/model/model.safetensors || fail "a killed job made another model of pairs"
lists=(--task reranking --train-data-file lists.csv --reranking-loss lambda --epochs 4 --batch-size 4 --gradient-accumulation-steps 2
  --save-steps 2 --max-seq-length 32)
expect 0 finished "${lists[@]}" --job-dir lists
survives_kills killed-lists "${lists[@]}"
cmp -s lists/model/model.safetensors killed-lists/model/model.safetensors || fail "a killed job made another model of lists"

# Two workers train nearly the same model, from both kinds of rows.
for rows in pairs lists; do
  declare -n same=$rows
  flags=("${same[@]}" --job-dir "workers-$rows" --threads 1 --peer-timeout 5 --rendezvous-timeout 60)
  start 2
  end_with "0 0" "two workers with $rows"
  python3 - "$rows" <<'PYTHON' || fail "workers train another model of $rows"
import json, sys
one, two = (json.load(open(f"{job}/metrics.json"))["eval"] for job in (sys.argv[1], f"workers-{sys.argv[1]}"))
assert abs(one["loss"] - two["loss"]) < 1e-3 * one["loss"], (one, two)
PYTHON
done

# The programs for TPUs and GPUs train labelled pairs, too. xla_tasks.sh trains rows with negatives.
plugin=${BERTH_XLA_PLUGINS:-$repository/build/xla-plugins}/pjrt-cpu-0.115.so
if [ -e "$plugin" ]; then
  export ASAN_OPTIONS=detect_leaks=0:${ASAN_OPTIONS:-}
  xla=(--device xla-cpu --pjrt-plugin "$plugin")
  evaluation=(--mode eval --eval-data-file pairs.tsv --model pairs/model --max-seq-length 32 --precision fp32 --positive-weight 3)
  expect 0 finished "${evaluation[@]}"
  cp out.txt cpu.json
  expect 0 finished "${evaluation[@]}" "${xla[@]}"
  python3 - <<'PYTHON' || fail "the losses of two engines differ"
import json
one, two = (json.load(open(name))["eval"] for name in ("cpu.json", "out.txt"))
assert abs(one["loss"] - two["loss"]) < 1e-4 and one["ndcg_at_10"] == two["ndcg_at_10"], (one, two)
PYTHON
  expect 0 finished "${pairs[@]}" "${xla[@]}" --max-steps 2 --job-dir xla
else
  echo "NOT TESTED HERE: rerankers on the XLA engine, without $plugin"
fi

# A prediction is of two texts, so it would leave negatives out.
expect 3 'the rows have negatives' --mode predict --predict-data-file lists.csv --job-dir pairs
expect 0 finished --mode predict --predict-data-file lists.csv --job-dir pairs --text-pair-column positive

# Labels that the loss cannot learn, and what needs negatives.
sed '2s/.$/3/' pairs.tsv >scores.tsv
expect 3 "is not from 0 to 1" --task reranking --train-data-file scores.tsv --job-dir refused
expect 0 finished --task reranking --train-data-file scores.tsv --reranking-loss mse --max-steps 1 --job-dir numbers
cut -f1,2 pairs.tsv >bare.tsv
expect 3 "compares the passages of a row" --task reranking --train-data-file bare.tsv --reranking-loss softmax --job-dir refused2
# One passage a row and no label: nothing says that a passage is wrong.
for loss in bce mse; do
  expect 3 "no label, so every passage is right" --task reranking --train-data-file bare.tsv --reranking-loss $loss --job-dir refused-bare
done
expect 3 "no label, so every passage is right" --mode eval --eval-data-file bare.tsv --job-dir pairs
expect 0 finished --mode predict --predict-data-file bare.tsv --job-dir pairs
# A number beside negatives may be a teacher's score or a label.
sed '1s/$/,score/; 2,$s/$/,0.5/' lists.csv >numbered.csv
expect 3 "may hold a teacher's scores or the labels of pairs" --task reranking --train-data-file numbered.csv --job-dir refused-both
expect 0 finished --task reranking --train-data-file numbered.csv --reranking-loss softmax --max-steps 1 --batch-size 4 --max-seq-length 32 --job-dir numbered
expect 2 "changes nothing in this loss" --task reranking --train-data-file lists.csv --reranking-loss lambda --positive-weight 2 --job-dir refused4
expect 2 "--reranking-loss" --task regression --train-data-file pairs.tsv --reranking-loss mse --job-dir refused3

finish
