#!/usr/bin/env bash
# Trains models that choose one of several texts, in the layouts of SWAG, RACE and others, resumes after kills, with workers, and
# checks what is exported and predicted.
#   multiple_choice.sh BERTH
. "$(dirname "$0")/lib.sh"
. "$repository/tests/jobs/workers_lib.sh"

# The same rows in the layouts of SWAG (CSV and JSON lines), of RACE, and of a question with named choices.
python3 - <<'PYTHON'
import csv, json, random
random.seed(4)
topics = ["the ball was kicked into the goal", "bread with butter and cheese", "the train left the station", "rain fell on the hills"]
swag, race, named = [], [], []
for number in range(32):
    topic = topics[number % 4]
    endings = [f"then {other} {number}" for other in topics]
    random.shuffle(endings)
    label = next(i for i, ending in enumerate(endings) if topic in ending)
    row = {"": number, "video-id": f"v{number}", "startphrase": f"{topic} and", "sent1": f"first {topic}", "sent2": "and"}
    swag.append(row | {"gold-source": "gold"} | {f"ending{i}": ending for i, ending in enumerate(endings)} | {"label": label})
    race.append({"example_id": f"middle{number}.txt", "article": row["sent1"], "answer": "ABCD"[label], "question": row["sent2"], "options": endings})
    named.append({"id": f"q{number}", "question": row["sent1"], "choices": {"text": endings, "label": list("ABCD")}, "answerKey": "ABCD"[label]})
with open("swag.csv", "w", newline="") as file:
    writer = csv.DictWriter(file, swag[0].keys())
    writer.writeheader()
    writer.writerows(swag)
for name, rows in (("swag", swag), ("race", race), ("named", named), ("gaps", [row | {"question": "they _ ."} for row in race])):
    with open(f"{name}.jsonl", "w") as file:
        file.writelines(json.dumps({key: value for key, value in row.items() if key}) + "\n" for row in rows)
PYTHON

# metric FILE NAME: the value of a metric in a file of JSON.
metric() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["eval"][sys.argv[2]])' "$@"; }

swag=(--task multiple_choice --train-data-file swag.csv --validation-split 0.25 --epochs 4 --batch-size 4 --eval-steps 6 --save-steps 6
  --max-seq-length 32 --learning-rate 1e-3 --precision fp32 --seed 3)
expect 0 finished "${swag[@]}" --job-dir swag
tr -d '\\' <err.txt | says 'text "sent1" and "sent2", choices "ending0", "ending1", "ending2", "ending3", labels "label"' ||
  fail "does not say which columns were read"
metric swag/metrics.json accuracy >/dev/null || fail "no accuracy"
grep -q '"task": "multiple_choice"' swag/metrics.json || fail "task"
grep -q '"BertForMultipleChoice"' swag/model/config.json || fail "class of the exported model"
grep -q 'pipeline_tag: multiple-choice' swag/model/README.md || fail "card of the exported model"
grep -q 'AutoModelForMultipleChoice' swag/model/README.md || fail "the card does not say how to load the model"
[ ! -e swag/model/modules.json ] || fail "files of sentence-transformers"

# The other layouts are the same rows, so they train the same model. RACE's second text is the same without a gap.
for file in swag.jsonl race.jsonl; do
  expect 0 finished "${swag[@]}" --train-data-file $file --job-dir "of-$file"
  cmp -s "of-$file/model/model.safetensors" swag/model/model.safetensors || fail "$file trains another model"
done
expect 0 finished "${swag[@]}" --train-data-file named.jsonl --job-dir named
expect 0 finished "${swag[@]}" --train-data-file gaps.jsonl --job-dir gaps

# A finished model evaluates and predicts as it was trained, without being told how.
expect 0 finished --mode eval --eval-data-file swag.csv --job-dir swag
cp out.txt swag.json
expect 0 finished --mode eval --eval-data-file race.jsonl --model swag/model --max-seq-length 32
python3 - <<'PYTHON' || fail "another layout of the same rows is evaluated otherwise"
import json
one, two = (json.load(open(name))["eval"] for name in ("swag.json", "out.txt"))
assert one["accuracy"] == two["accuracy"] and abs(one["loss"] - two["loss"]) < 1e-6, (one, two)
PYTHON
expect 0 finished --mode predict --predict-data-file race.jsonl --model swag/model --max-seq-length 32 --id-column example_id \
  --predictions-with-text --predictions-file chosen.tsv
python3 - <<'PYTHON' || fail "predictions"
import csv, json
rows = [json.loads(line) for line in open("race.jsonl")]
found = list(csv.DictReader(open("chosen.tsv"), delimiter="\t"))
assert len(rows) == len(found) == 32
right = 0
for row, line in zip(rows, found, strict=True):
    probabilities = [float(line[str(i)]) for i in range(4)]
    assert line["id"] == row["example_id"] and abs(sum(probabilities) - 1) < 1e-6, line
    assert int(line["prediction"]) == probabilities.index(max(probabilities)), line
    assert line["text"] == row["article"] and line["choice_2"] == "and " + row["options"][2], line
    right += "ABCD"[int(line["prediction"])] == row["answer"]
assert right / 32 == json.load(open("swag.json"))["eval"]["accuracy"], right
PYTHON

# A row to predict that lacks a text has a line without a prediction.
python3 - <<'PYTHON'
import json
rows = [json.loads(line) for line in open("race.jsonl")][:3]
rows[1]["question"] = None
open("lacking.jsonl", "w").writelines(json.dumps(row) + "\n" for row in rows)
PYTHON
expect 0 finished --mode predict --predict-data-file lacking.jsonl --model swag/model --predictions-file lacking.tsv
sed -n 3p lacking.tsv | says $'^1\t\t\t\t\t$' || fail "the line of a row that lacks its question: $(cat lacking.tsv)"

# A job goes on with a finished model, whose head is kept; another task has a new head.
expect 0 finished "${swag[@]}" --model swag/model --max-steps 1 --job-dir further
grep -q "initialised at random" err.txt && fail "the head is new"
printf 'text,label\na,x\nb,y\nc,x\nd,y\n' >classes.csv
expect 0 finished --train-data-file classes.csv --model swag/model --max-steps 1 --validation-split 0 --job-dir other
says 'the head is new\|initialised at random' <err.txt || fail "a classifier keeps the head of choices"

# A job that is killed makes the same model, and so does one that adds up gradients.
survives_kills killed "${swag[@]}"
cmp -s swag/model/model.safetensors killed/model/model.safetensors || fail "a killed job made another model"

# Two workers train nearly the same model.
flags=("${swag[@]}" --job-dir workers --threads 1 --peer-timeout 5 --rendezvous-timeout 60)
start 2
end_with "0 0" "two workers"
python3 - <<'PYTHON' || fail "workers train another model"
import json
one, two = (json.load(open(f"{job}/metrics.json"))["eval"] for job in ("swag", "workers"))
assert abs(one["loss"] - two["loss"]) < 1e-3 * one["loss"], (one, two)
PYTHON

# LoRA, smoothed labels, weights of rows and ONNX.
expect 0 finished "${swag[@]}" --max-steps 2 --lora-rank 4 --label-smoothing 0.1 --export-format onnx --job-dir lora
[ -s lora/model/model.onnx ] || fail "no ONNX file"


# Rows that are no rows of choices.
expect 3 "no column holds choices by its name" --task multiple_choice --train-data-file classes.csv --job-dir refused1
sed 's/"answer": "[A-D]"/"answer": "E"/' race.jsonl >letters.jsonl
expect 3 "means none of the row's 4 choices" --task multiple_choice --train-data-file letters.jsonl --job-dir refused2
sed '3s/, "[^"]*"\]/]/' race.jsonl >fewer.jsonl
expect 3 "the row has 3 choices, and the first row has 4" --task multiple_choice --train-data-file fewer.jsonl --job-dir refused3
expect 2 "changes nothing in a training of multiple_choice" "${swag[@]}" --max-negatives 2 --job-dir refused4
mkdir roformer
cp "$tiny/vocab.txt" roformer
echo '{"tokenizer_class": "BertTokenizer"}' >roformer/tokenizer_config.json
sed 's/"model_type": "bert"/"model_type": "roformer"/; s/BertFor[A-Za-z]*\|BertModel/RoFormerModel/' "$tiny/config.json" >roformer/config.json
expect 2 "transformers has no class for multiple choice that reads the first token of a RoFormer" "${swag[@]}" --init random \
  --model roformer --job-dir refused5

# A classification of the same file says that choices are not read.
expect 0 finished --train-data-file swag.csv --max-steps 1 --job-dir classes
says 'task multiple_choice learns which one is right' <err.txt || fail "no word of choices that are not read"

finish
