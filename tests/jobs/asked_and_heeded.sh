#!/usr/bin/env bash
# What a user asked for, and what became of it: texts that are cut, rows without texts, flags that a mode does not use, evaluations without
# labels, paths, and jobs that an earlier version began.
#   asked_and_heeded.sh BERTH
. "$(dirname "$0")/lib.sh"

warned() { grep '"severity":"WARNING"' err.txt | tr -d '\\' | says -F -- "$1" || fail "does not warn: $1"; }
silent() { grep '"severity":"WARNING"' err.txt | tr -d '\\' | grep -F -- "$1" && fail "warns without a reason: $1"; }
small=(--batch-size 8 --max-steps 2 --threads 1 --no-report)

# Texts that are cut are counted, with the length that would hold 95 % of them.
{
  printf 'text,label\n'
  for i in $(seq 40); do
    printf '%s,%s\n' "$([ $((i % 2)) = 0 ] && echo "the old river runs past the broad field in the morning" || echo "bread")" "$([ $((i % 4)) -lt 2 ] && echo a || echo b)"
  done
} >cut.csv
expect 0 finished --train-data-file cut.csv "${small[@]}" --max-seq-length 8 --validation-split 0 --job-dir cut
warned '20 of 40 texts (50 %) are longer than --max-seq-length 8 and cut; --max-seq-length '
length=$(tr -d '\\' <err.txt | grep -o 'and cut; --max-seq-length [0-9]*' | grep -o '[0-9]*$' | sed -n 1p)
expect 0 finished --train-data-file cut.csv "${small[@]}" --max-seq-length "$length" --validation-split 0 --job-dir whole
silent 'and cut'
"$berth" --train-data-file cut.csv "${small[@]}" --max-seq-length 8 --validation-split 0 --job-dir dry --dry-run >out.txt 2>err.txt
says '20 of 40 texts' <out.txt || fail "--dry-run does not count the texts that are cut"
for mode in predict embed; do
  expect 0 finished --mode $mode --predict-data-file cut.csv --job-dir cut --max-seq-length 8
  warned '20 of 40 texts (50 %)'
done

# A model with 32 positions trains at 32 where no length was asked for, and is used at this length.
python3 - "$tiny" <<'PYTHON'
import json, os, shutil, struct, sys
shutil.copytree(sys.argv[1], "short")
config = json.load(open("short/config.json"))
config["max_position_embeddings"] = 32
json.dump(config, open("short/config.json", "w"))
path = "short/model.safetensors"
if os.path.exists(path):
    data = open(path, "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + size])
    body, out, at = data[8 + size :], b"", 0
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        tensor = body[begin:end]
        if "position_embeddings" in name:
            tensor = tensor[: len(tensor) // entry["shape"][0] * 32]
            entry["shape"][0] = 32
        entry["data_offsets"] = [at, at + len(tensor)]
        at += len(tensor)
        out += tensor
    text = json.dumps(header).encode()
    open(path, "wb").write(struct.pack("<Q", len(text)) + text + out)
PYTHON
expect 0 finished --train-data-file cut.csv --model short "${small[@]}" --job-dir positions
tr -d '\\' <err.txt | says -F -- '--max-seq-length 32, because the model has no more positions' || fail "does not name the length"
grep -q '"max_seq_length": 32' positions/job.json || fail "job.json does not record the length"
expect 0 finished --mode predict --predict-data-file cut.csv --job-dir positions
expect 0 finished --mode predict --predict-data-file cut.csv --model positions/model
expect 2 'is more than the' --train-data-file cut.csv --model short "${small[@]}" --max-seq-length 128 --job-dir too_long

# A row without a text keeps its place.
printf '{"text": "bread"}\n{"text": null}\n{"text": "  "}\n{"text": "river"}\n' >holes.jsonl
expect 0 finished --mode predict --predict-data-file holes.jsonl --job-dir cut --predictions-file -
[ "$(sed -n 3,4p out.txt)" = "$(printf '1\t\t\t\n2\t\t\t')" ] || fail "rows without a text: $(cat out.txt)"
[ "$(wc -l <out.txt)" = 5 ] || fail "rows are lost: $(cat out.txt)"
warned '2 rows have no text'
printf 'text\nbread\n""\nriver\n' >holes.csv
expect 0 finished --mode predict --predict-data-file holes.csv --job-dir cut --predictions-with-text --predictions-file -
[ "$(sed -n 3p out.txt)" = "$(printf '1\t\t\t\t')" ] || fail "an empty cell: $(cat out.txt)"
expect 0 finished --mode embed --predict-data-file holes.jsonl --job-dir cut --embeddings-format jsonl --predictions-file -
[ "$(wc -l <out.txt)" = 4 ] || fail "embed loses rows"
expect 3 'is empty' --train-data-file holes.jsonl --task mlm "${small[@]}" --job-dir holes

# A flag that the mode does not use is a warning, and its file must exist.
expect 0 finished --train-data-file cut.csv "${small[@]}" --predict-data-file holes.csv --job-dir unused
warned '--mode train_and_eval does not use --predict-data-file'
expect 4 'predict-data-file' --train-data-file cut.csv "${small[@]}" --predict-data-file nowhere.csv --job-dir missing
[ -e missing ] && fail "a job that ends before the first update leaves a directory"
expect 0 finished --mode predict --predict-data-file cut.csv --job-dir cut --epochs 3 --predictions-file p.tsv
warned '--mode predict does not use --epochs'

# Labels that teach nothing, and evaluations without labels.
printf 'Aunt O\nIda O\n\nRome O\nis O\n\nso O\nbig O\n\nso O\n\nso O\n' >alike.conll
for _ in 1 2 3 4; do printf 'Ida B-PER\nis O\n\n'; done >tagged.conll
expect 0 finished --task ner --train-data-file alike.conll "${small[@]}" --validation-split 0 --job-dir alike
warned 'every word has the tag "O"'
{
  printf 'text,label\n'
  for i in $(seq 20); do printf 'bread %d,id%d\n' "$i" "$i"; done
} >ids.csv
expect 0 finished --train-data-file ids.csv "${small[@]}" --validation-split 0 --job-dir ids
warned 'every row has a label of its own'
expect 0 finished --train-data-file ids.csv "${small[@]}" --job-dir ids_held_out
warned 'no row is left to evaluate on'
{
  printf 'text,label,w\n'
  for i in $(seq 20); do printf 'bread %d,%s,%d\n' "$i" "$([ $((i % 2)) = 0 ] && echo a || echo b)" "$((i % 3))"; done
} >weighed.csv
# Equal labels of all rows.
{ printf 'text,label\n' && printf 'rain %d,a\n' 1 2 3 4 5 6; } >one_class.csv
expect 0 finished --train-data-file weighed.csv --eval-data-file one_class.csv "${small[@]}" --job-dir one_class
warned 'every row to evaluate on has the label "a"'
expect 0 finished --mode eval --eval-data-file one_class.csv --job-dir one_class
warned 'every row to evaluate on has the label "a"'
{ sed -n 1p weighed.csv && sed 1d weighed.csv | sort -t, -k2,2; } >sorted.csv
expect 0 finished --mode eval --eval-data-file sorted.csv --max-eval-samples 6 --job-dir one_class
warned 'every row to evaluate on has the label'
expect 0 finished --mode eval --eval-data-file sorted.csv --job-dir one_class
grep -q 'every row' err.txt && fail "rows of two classes are called one"
printf 'text,label\n' >one_set.csv
printf 'bread %d,x|y\n' 1 2 3 4 5 6 7 8 >>one_set.csv
expect 0 finished --train-data-file one_set.csv "${small[@]}" --validation-split 0 --job-dir one_set
warned 'every row has the labels "x", "y"'
expect 0 finished --task ner --train-data-file tagged.conll --eval-data-file alike.conll "${small[@]}" --job-dir one_tag
warned 'every word to evaluate on has the tag "O"'
sed 's/,[0-9]*$/,0/; 1s/.*/text,label,w/' weighed.csv >weightless.csv
expect 3 'nothing to learn' --train-data-file weightless.csv --weight-column w "${small[@]}" --validation-split 0 --job-dir weightless
expect 0 finished --train-data-file weighed.csv --eval-data-file weightless.csv --weight-column w "${small[@]}" --job-dir unseen
warned 'no row to evaluate on has a label'
grep -q '"eval"' unseen/metrics.json && fail "an evaluation without a label has scores"
expect 3 'nothing to evaluate' --mode eval --eval-data-file weightless.csv --job-dir unseen
printf '{"text": "日 月 火 水"}\n{"text": "木 金 土 人 口 手"}\n' >unknown.jsonl
expect 0 finished --mode predict --predict-data-file unknown.jsonl --job-dir cut --predictions-file p.tsv
warned 'hold nothing that the vocabulary can write'

# --mode eval weighs as the job did, which gives the loss of the training's own evaluation.
expect 0 finished --train-data-file weighed.csv --eval-data-file weighed.csv --weight-column w "${small[@]}" --precision fp32 --job-dir weighed
loss=$(python3 -c 'import json; print(json.load(open("weighed/metrics.json"))["eval"]["loss"])')
expect 0 finished --mode eval --eval-data-file weighed.csv --job-dir weighed --precision fp32
python3 - "$loss" <<'PYTHON' || fail "eval weighs otherwise than the job"
import json, sys
assert abs(json.load(open("out.txt"))["eval"]["loss"] - float(sys.argv[1])) < 1e-6
PYTHON

# The epoch's loss is that of metrics.json: 20 rows are updates of 8, 8 and 4.
"$berth" --train-data-file weighed.csv --validation-split 0 --batch-size 8 --epochs 1 --threads 1 --log-format text --job-dir epoch 2>err.txt ||
  fail "the log as text: $(tail -n 1 err.txt)"
python3 - <<'PYTHON' || fail "the epoch's loss is not that of metrics.json"
import json, re
told = [float(x) for x in re.findall(r"Epoch 1/1 .*ex/s  loss ([0-9.]+)", open("err.txt").read())]
assert abs(told[-1] - json.load(open("epoch/metrics.json"))["train"]["loss"]) < 6e-5, told
PYTHON

# Paths.
HOME=$scratch/home expect 0 finished --train-data-file=cut.csv "${small[@]}" --job-dir '~/runs/a'
[ -e home/runs/a/metrics.json ] || fail "~/ is not the home directory"
[ -e '~' ] && fail "makes a folder called ~"
expect 2 'a variable that nothing has replaced' --train-data-file cut.csv --job-dir '$(AIP_MODEL_DIR)/x'

# Documents are joined to full blocks. A job that an earlier version began reads line by line to its end.
for i in $(seq 40); do printf '{"text": "The old river runs past number %d and the baker sells bread there."}\n' "$i"; done >texts.jsonl
mlm=(--task mlm --train-data-file texts.jsonl --max-seq-length 32 --batch-size 4 --threads 1 --validation-split 0.2 --no-report)
expect 0 finished "${mlm[@]}" --max-steps 4 --job-dir joined
tr -d '\\' <err.txt | says 'rows joined to [0-9]* blocks of 32 tokens, attended to row by row' || fail "does not say that rows are joined"
expect 0 finished "${mlm[@]}" --max-steps 4 --attend-across-documents --job-dir across
expect 0 finished "${mlm[@]}" --max-steps 4 --line-by-line --job-dir lines
cmp -s joined/model/model.safetensors across/model/model.safetensors && fail "--attend-across-documents has no effect"
cmp -s joined/model/model.safetensors lines/model/model.safetensors && fail "--line-by-line has no effect"
for job in joined across lines; do
  loss=$(python3 -c "import json; print(json.load(open('$job/metrics.json'))['eval']['loss'])")
  expect 0 finished --mode eval --eval-data-file texts.jsonl --job-dir $job
done
older() { # JOB: makes the job one of an earlier version
  sed -i '/"line-by-line"/d; /"attend-across-documents"/d' "$1/job.json"
}
expect 0 finished "${mlm[@]}" --max-steps 4 --line-by-line --job-dir older
older older
expect 0 'finished' "${mlm[@]}" --max-steps 4 --job-dir older
expect 5 'an earlier version began the job' "${mlm[@]}" --max-steps 4 --no-line-by-line --job-dir older
expect 0 finished "${mlm[@]}" --max-steps 4 --job-dir new
expect 5 'line-by-line' "${mlm[@]}" --max-steps 4 --line-by-line --job-dir new

# A flag that changes nothing in the task.
expect 2 '--label-smoothing: the flag changes nothing in a training of regression' --task regression --train-data-file cut.csv \
  --label-smoothing 0.1 --job-dir other
expect 2 '--lr-power: the flag changes nothing' --train-data-file cut.csv "${small[@]}" --lr-power 2 --job-dir other
expect 2 'above its peak' --train-data-file cut.csv "${small[@]}" --lr-end 1 --job-dir other
expect 0 finished --mode predict --predict-data-file cut.csv --job-dir cut --n-best-size 3
warned '--mode predict of sequence_classification does not use --n-best-size'
expect 2 '--query-prompt: the flag changes nothing' --mode predict --predict-data-file cut.csv --job-dir cut --query-prompt 'query: '
expect 0 finished --mode embed --predict-data-file cut.csv --job-dir cut --matryoshka-dims 64 --pooling cls
warned '--mode embed does not use --matryoshka-dims'
silent '--pooling'

# Equal numbers of all rows have no correlation, and such an evaluation is never the best.
{ printf 'text,label\n' && for i in $(seq 20); do printf 'rain %d,%d.5\n' "$i" "$((i % 4))"; done; } >numbers.csv
{ printf 'text,label\n' && printf 'rain %d,2.5\n' 1 2 3 4 5 6; } >one_number.csv
expect 0 finished --train-data-file numbers.csv --eval-data-file one_number.csv "${small[@]}" --eval-steps 1 --load-best-model-at-end --job-dir one_number
warned 'every row to evaluate on has the label 2.5'
warned 'so the model is the last one'
python3 -c 'import json; r = json.load(open("one_number/metrics.json")); assert r["eval"]["pearson"] is None and r["eval"]["mse"] > 0, r' ||
  fail "equal numbers have a correlation"
grep -q 'whose pearson is the best' err.txt && fail "an evaluation without a metric is the best"
finish
