#!/usr/bin/env bash
# Trains, evaluates and predicts every task with the program.
#   tasks.sh BERTH
. "$(dirname "$0")/lib.sh"

# task NAME METRIC HEADER FILE FLAGS...: trains, evaluates and predicts on FILE. Checks the metric and the header of predictions.tsv.
task() {
  local name=$1 metric=$2 header=$3 file=$4
  shift 4
  expect 0 finished --train-data-file "$file" --eval-data-file "$file" --max-steps 3 --batch-size 4 --job-dir "$name" "$@"
  grep -q "\"task\": \"$name\"" "$name/metrics.json" || fail "$name: metrics.json names another task"
  grep -q "\"$metric\"" "$name/metrics.json" || fail "$name: no $metric in metrics.json"
  expect 0 finished --mode eval --eval-data-file "$file" --job-dir "$name" "$@"
  grep -q "\"$metric\"" out.txt || fail "$name: eval prints no $metric"
  expect 0 finished --mode predict --predict-data-file "$file" --job-dir "$name" "$@"
  [ "$(head -n 1 "$name/predictions.tsv" | tr '\t' ' ')" = "$header" ] || fail "$name: header $(head -n 1 "$name/predictions.tsv")"
  [ "$(wc -l <"$name/predictions.tsv")" -gt 1 ] || fail "$name: no predictions"
}

# unlabelled NAME FILE BARE FLAGS...: the labels in FILE are invalid, and BARE has the same rows without labels. Checks that both
# files give the same predictions and that FILE cannot be evaluated.
unlabelled() {
  local name=$1 file=$2 bare=$3
  shift 3
  expect 0 finished --mode predict --predict-data-file "$bare" --job-dir "$name" "$@"
  cp "$name/predictions.tsv" bare.tsv
  expect 0 finished --mode predict --predict-data-file "$file" --job-dir "$name" "$@"
  cmp -s "$name/predictions.tsv" bare.tsv || fail "$name: invalid labels change the predictions"
  expect 3 '' --mode eval --eval-data-file "$file" --job-dir "$name" "$@"
}

printf 'sentence1,sentence2,score\nA cat sits,A cat is sitting,4.75\nIt rains,Bread is good,0.25\n' >pairs.csv
task regression pearson 'id score' pairs.csv
printf 'sentence1,sentence2,score\nA cat sits,A cat is sitting,\nIt rains,Bread is good,unknown\n' >blank.csv
cut -d, -f1,2 blank.csv >bare.csv
unlabelled regression blank.csv bare.csv
mkdir -p hub/data
printf 'text,label\nfine,good\nso fine,good\npoor,bad\nso poor,bad\n' >hub/data/train-00000-of-00001.csv
printf 'text,label\nvery fine,good\n' >hub/data/validation-00000-of-00001.csv
printf 'text,label\nwell,\n' >hub/data/test-00000-of-00001.csv
expect 0 finished --train-data-file hub --max-steps 2 --batch-size 2 --job-dir hub_job
grep -q 'evaluates on the split validation of hub' err.txt || fail "does not say which split evaluates"
cat out.txt err.txt | says '"train_examples":4,"eval_examples":1,' || fail "trains on more than the split train"
tar czf hub.tar.gz hub
expect 0 finished --train-data-file hub.tar.gz --max-steps 1 --batch-size 2 --job-dir packed_job
cat out.txt err.txt | says '"train_examples":4,"eval_examples":1,' || fail "an archive of splits trains on more than the split train"
expect 0 finished --mode predict --predict-data-file hub --job-dir hub_job
[ "$(wc -l <hub_job/predictions.tsv)" = 2 ] || fail "does not predict the split test"
printf 'text,rude,kind\nThank you,0,1\nGo away,1,0\nWell,0,0\n' >marks.csv
task multi_label f1_micro 'id prediction rude kind' marks.csv --label-column rude,kind
# Weights of labels: the rows without each divided by the rows with it. "any" is always there.
printf 'text,rude,kind,any\nThank you,0,1,1\nGo away,1,0,1\nWell,0,0,1\nHm,0,1,1\n' >rare.csv
expect 0 finished --train-data-file rare.csv --eval-data-file rare.csv --label-column rude,kind,any --class-weights balanced --max-steps 2 \
  --batch-size 4 --job-dir rare
grep -qF -- '--class-weights balanced: \"rude\" 3, \"kind\" 1, \"any\" 1' err.txt || fail "says other weights of labels"
# The weight 0 leaves the loss of the rows without a label.
expect 0 finished --train-data-file rare.csv --eval-data-file rare.csv --label-column rude,kind,any --class-weights 0,2,0.5 --focal-gamma 2 \
  --max-steps 2 --batch-size 4 --job-dir rare_focal
expect 2 'give one for each, in this order' --train-data-file rare.csv --label-column rude,kind,any --class-weights 1,2 --job-dir other
# Thresholds of labels that the held-out rows choose are kept in the model, and eval and predict use them.
for choice in auto per_label; do
  expect 0 finished --train-data-file rare.csv --eval-data-file rare.csv --label-column rude,kind,any --label-threshold $choice --max-steps 2 \
    --batch-size 4 --job-dir $choice --export-format onnx --load-best-model-at-end
  grep -q 'that these rows have chosen\|which these rows have chosen' err.txt || fail "$choice: does not say the thresholds"
  expect 0 finished --mode eval --eval-data-file rare.csv --label-column rude,kind,any --model $choice/model
  cp out.txt eval_$choice.txt
  expect 0 finished --mode predict --predict-data-file rare.csv --job-dir $choice
  expect 0 finished --mode export_only --job-dir $choice --export-dir exported_$choice
  cmp $choice/model/config.json exported_$choice/config.json || fail "$choice: the exported configuration is another one"
  cp $choice/model/config.json whole.json && rm $choice/model/model.safetensors
  expect 0 finished --train-data-file rare.csv --eval-data-file rare.csv --label-column rude,kind,any --label-threshold $choice \
    --max-steps 2 --batch-size 4 --job-dir $choice --export-format onnx --load-best-model-at-end
  cmp $choice/model/config.json whole.json || fail "$choice: the model that was written again has another configuration"
  grep -q 'label_thresholds in config.json' $choice/model/README.md || fail "$choice: the card lacks the thresholds"
done
python3 - <<'PYTHON' || fail "thresholds of labels"
import csv, json
for choice in ("auto", "per_label"):
    metrics = json.load(open(choice + "/metrics.json"))["eval"]
    config = json.load(open(choice + "/model/config.json"))
    names = [config["id2label"][str(i)] for i in range(3)]
    thresholds = config["label_thresholds"]
    assert list(metrics["label_thresholds"].items()) == list(zip(names, thresholds)), metrics
    assert len(set(thresholds)) == 1 or choice == "per_label", thresholds
    evaluated = json.load(open("eval_%s.txt" % choice))["eval"]
    for name in ("f1_micro", "f1_macro", "accuracy", "label_thresholds"):
        assert evaluated[name] == metrics[name], (name, evaluated[name], metrics[name])
    lines = list(csv.DictReader(open(choice + "/predictions.tsv"), delimiter="\t"))
    for line in lines:
        expected = [name for name, least in zip(names, thresholds) if float(line[name]) > least]
        assert line["prediction"] == "|".join(expected), (line, thresholds)
    assert len(lines) == 4
PYTHON
expect 0 finished --mode predict --predict-data-file rare.csv --model per_label/model --label-threshold 0.0001 --predictions-file all.tsv
[ "$(cut -f2 all.tsv | sed 1d | sort -u)" = 'rude|kind|any' ] || fail "a given threshold does not replace the model's: $(cut -f2 all.tsv)"
expect 2 'chosen by the evaluations of a training' --mode predict --predict-data-file rare.csv --model per_label/model --label-threshold auto
expect 2 'has no sets of labels' --mode predict --predict-data-file pairs.csv --job-dir regression --label-threshold 0.3
# A model that is trained further does not keep them.
expect 0 finished --train-data-file rare.csv --eval-data-file rare.csv --label-column rude,kind,any --model per_label/model --max-steps 1 \
  --job-dir further
! grep -q label_thresholds further/model/config.json || fail "a further training keeps old thresholds"
expect 0 finished --train-data-file rare.csv --eval-data-file rare.csv --label-column rude,kind,any --label-threshold 0.25 --max-steps 1 \
  --job-dir quarter
tr -d ' \n' <quarter/model/config.json | says '"label_thresholds":\[0.25,0.25,0.25\]' || fail "a given threshold is not kept"
printf 'text,rude,kind\nThank you,-1,-1\nGo away,,\n' >blank.csv
cut -d, -f1 blank.csv >bare.csv
unlabelled multi_label blank.csv bare.csv --label-column rude,kind
printf '{"text": "a", "labels": ["x", "y"]}\n{"text": "b", "labels": []}\n{"text": "c", "labels": ["y"]}\n' >sets.jsonl
expect 0 finished --train-data-file sets.jsonl --max-steps 2 --job-dir sets --validation-split 0.4
printf 'Aunt B-PER\nIda I-PER\nsings O\n\nRome B-LOC\nis O\nfar O\n' >words.conll
task token_classification entity_f1 'sentence word prediction probability' words.conll
[ "$(wc -l <token_classification/predictions.tsv)" = 7 ] || fail "there is not one line for each word"
# Weights of tags: words / (tags x words of the tag).
expect 0 finished --train-data-file words.conll --eval-data-file words.conll --class-weights balanced --max-steps 2 --batch-size 2 --job-dir tags
grep -qF -- '--class-weights balanced: \"B-LOC\" 1.5, \"B-PER\" 1.5, \"I-PER\" 1.5, \"O\" 0.5' err.txt || fail "says other weights of tags"
expect 3 'there is nothing to learn' --train-data-file words.conll --class-weights 0,0,0,0 --max-steps 2 --validation-split 0 --job-dir zeros
printf 'Aunt -1\nIda\nsings UNKNOWN\n\nRome B-LOC\nis O\n' >blank.conll
cut -d' ' -f1 blank.conll >bare.conll
unlabelled token_classification blank.conll bare.conll
printf '{"data": [{"paragraphs": [{"context": "It rains in Rome today.", "qas": [{"id": "q1", "question": "Where?", "answers": [{"text": "Rome", "answer_start": 12}]}]}]}]}' >squad.json
task question_answering exact_match 'id answer start end probability' squad.json --max-seq-length 16 --doc-stride 2
grep -q '^q1' question_answering/predictions.tsv || fail "no answer to q1"

sed 's/"answers": \[[^]]*\]/"answers": []/' squad.json >none.json
expect 0 finished --train-data-file none.json --max-steps 1 --validation-split 0 --job-dir none --max-seq-length 16 --doc-stride 2
grep -q 'none.json: 1 of the 1 questions have no answer' err.txt || fail "does not warn of questions without an answer"
expect 0 finished --train-data-file none.json --max-steps 1 --validation-split 0 --job-dir none2 --max-seq-length 16 --doc-stride 2 --version-2-with-negative
! grep -q 'have no answer' err.txt || fail "warns although --version-2-with-negative was given"

sed 's/"text": "Rome", "answer_start": 12/"text": -1/' squad.json >blank.json
sed 's/, "answers": \[[^]]*\]//' squad.json >bare.json
unlabelled question_answering blank.json bare.json --max-seq-length 16 --doc-stride 2
printf 'text,label\nGood,yes\nBad,no\nWell,yes\n' >classes.csv
task sequence_classification accuracy 'id prediction no yes' classes.csv
printf 'text,label\nGood,\nBad,-1\nWell,maybe\n' >blank.csv
cut -d, -f1 blank.csv >bare.csv
unlabelled sequence_classification blank.csv bare.csv

# GLUE tasks are given by name, with the benchmark's own files.
mkdir RTE && for split in train dev; do
  printf 'index\tsentence1\tsentence2\tlabel\n0\tIt rains\tThe road is wet\tentailment\n1\t"Stop\tIt stopped\tnot_entailment\n' >RTE/$split.tsv
done
printf 'index\tsentence1\tsentence2\n0\tIt rains\tThe road is wet\n' >RTE/test.tsv
expect 0 finished --task RTE --data-dir RTE --max-steps 2 --batch-size 2 --job-dir rte
expect 0 finished --mode predict --task RTE --data-dir RTE --job-dir rte
[ "$(head -n 1 rte/predictions.tsv | tr '\t' ' ')" = 'id prediction entailment not_entailment' ] || fail "GLUE's labels"

# CoLA's training files have no header, but its test file has one. SST-2's test file is Kaggle's, which has invalid labels.
mkdir CoLA SST-2 && for split in train dev; do
  printf 'us26\t1\t\tIt "rains.\nus26\t0\t*\tRains it of.\n' >CoLA/$split.tsv
  printf 'sentence\tlabel\na warm evening \t1\na cold one\t0\n' >SST-2/$split.tsv
done
printf 'index\tsentence\n0\tIda "sings.\n1\tThe road is wet\n2\tWet road the.\n' >CoLA/test.tsv
printf 'index\tsentence\tlabel\n0\tcold and wet\t-1\n1\ta warm road\t\n2\ta "song\t7\n' >SST-2/test.tsv
for glue in CoLA SST-2; do
  expect 0 finished --task $glue --data-dir $glue --max-steps 2 --batch-size 2 --job-dir job-$glue
  expect 0 finished --mode predict --task $glue --data-dir $glue --job-dir job-$glue
  [ "$(cut -f 1 job-$glue/predictions.tsv | tr '\n' ' ')" = 'id 0 1 2 ' ] || fail "$glue: $(cat job-$glue/predictions.tsv)"
  expect 0 finished --mode predict --task $glue --predict-data-file $glue/dev.tsv --job-dir job-$glue
  [ "$(wc -l <job-$glue/predictions.tsv)" = 3 ] || fail "$glue: dev.tsv gives $(cat job-$glue/predictions.tsv)"
done

# A model of the hub has names for its outputs, and rows to evaluate on have its names in any case, or the benchmark's numbers.
cp -r job-SST-2/model sst2_of_hub
python3 - <<'PYTHON'
import json
config = json.load(open("sst2_of_hub/config.json"))
config["id2label"] = {"0": "NEGATIVE", "1": "POSITIVE"}
config["label2id"] = {"NEGATIVE": 0, "POSITIVE": 1}
json.dump(config, open("sst2_of_hub/config.json", "w"))
PYTHON
printf 'sentence,label\na warm evening,positive\na cold one,negative\n' >named_sst2.csv
printf 'sentence,label\na warm evening,1\na cold one,0\n' >numbered_sst2.csv
for file in named numbered; do
  expect 0 finished --mode eval --task sst2 --model sst2_of_hub --eval-data-file ${file}_sst2.csv
  cp out.txt $file.json
done
expect 0 finished --mode eval --model sst2_of_hub --eval-data-file named_sst2.csv
python3 - <<'PYTHON' || fail "names and numbers of classes are evaluated otherwise"
import json
named, numbered, plain = (json.load(open(name))["eval"] for name in ("named.json", "numbered.json", "out.txt"))
assert named["loss"] == numbered["loss"] == plain["loss"], (named, numbered, plain)
PYTHON

# Rows to evaluate on may lack the column of weights.
printf 'text,label,w\nGood,yes,2\nBad,no,1\nWell,yes,1\n' >weighted.csv
expect 0 finished --train-data-file weighted.csv --weight-column w --eval-data-file classes.csv --max-steps 1 --job-dir weighted
grep -q 'classes.csv: there is no column \\"w\\" (--weight-column), so all rows count alike' err.txt || fail "does not say that weights are missing"
expect 0 finished --mode eval --eval-data-file classes.csv --job-dir weighted
# A label that only the rows to evaluate on have.
printf 'text,label\nGood,yes\nBad,perhaps\n' >more.csv
expect 3 'label-names names all classes, with the classes that no row to train on has' --train-data-file classes.csv --eval-data-file more.csv --job-dir other

# MNLI has two evaluation sets. Both are evaluated during training and by --mode eval.
mkdir MNLI && for split in train dev_matched dev_mismatched; do
  printf 'index\tsentence1\tsentence2\tgold_label\n0\tIt rains\tIt is wet\tentailment\n1\tIt rains\tIt is dry\tcontradiction\n2\tIt rains\tI sing\tneutral\n' >MNLI/$split.tsv
done
expect 0 finished --task mnli --data-dir MNLI --max-steps 2 --batch-size 2 --job-dir mnli
grep -q '"eval_mm"' mnli/metrics.json || fail "no metrics of MNLI's mismatched rows"
expect 0 finished --mode eval --task mnli --data-dir MNLI --job-dir mnli
grep -q '"eval_mm"' out.txt || fail "eval prints no metrics of MNLI's mismatched rows"

# GLUE's diagnostic set scores a model of MNLI, and is never trained on.
python3 - <<'PYTHON'
labels = ["entailment", "neutral", "contradiction", "neutral", "entailment", "entailment", "contradiction"]
texts = ["It rains", 'The "road is wet', "I sing", "Bread is good", "A cat sits", "It stopped", "Rome is far"]
with open("ax.tsv", "w") as file:
    file.write("index\tsentence1\tsentence2\tlabel\n")
    for i, label in enumerate(labels):
        file.write("%d\t%s\t%s\t%s\n" % (i, texts[i], texts[(3 * i + 1) % 7], label))
PYTHON
mkdir diagnostic && cp ax.tsv diagnostic/diagnostic.tsv && cut -f1-3 ax.tsv >bare_ax.tsv
expect 0 finished --mode eval --task ax --data-dir diagnostic --model mnli/model
cp out.txt of_folder.txt
expect 0 finished --mode eval --task ax --eval-data-file ax.tsv --job-dir mnli
expect 0 finished --mode predict --task ax --predict-data-file bare_ax.tsv --job-dir mnli
python3 - <<'PYTHON' || fail "the diagnostic set"
import csv, json, math
scores = json.load(open("of_folder.txt"))["eval"]
truths = [row["label"] for row in csv.DictReader(open("ax.tsv"), delimiter="\t", quoting=csv.QUOTE_NONE)]
guesses = [row["prediction"] for row in csv.DictReader(open("mnli/predictions.tsv"), delimiter="\t")]
classes = sorted(set(truths) | set(guesses))
rows, right = len(truths), sum(a == b for a, b in zip(truths, guesses))
t, p = [[list(side).count(each) for each in classes] for side in (truths, guesses)]
below = math.sqrt((rows**2 - sum(x * x for x in p)) * (rows**2 - sum(x * x for x in t)))
correlation = (right * rows - sum(a * b for a, b in zip(t, p))) / below if below else 0
assert abs(scores["matthews_correlation"] - correlation) < 1e-9, (scores, correlation)
assert scores["examples"] == rows and abs(scores["accuracy"] - right / rows) < 1e-9, scores
PYTHON
expect 2 'ax has no rows to train on' --task ax --train-data-file ax.tsv --job-dir other
expect 2 'ax has no rows to train on' --task ax --data-dir diagnostic --job-dir other

# The labels of a model may have another order than those of the task: they are matched by name. A model with only some of the
# task's names is refused.
for labels in 'ENTAILMENT NEUTRAL CONTRADICTION' 'NEUTRAL CONTRADICTION ENTAILMENT'; do
  set -- $labels
  sed "s/\"entailment\"/\"$1\"/; s/\"neutral\"/\"$2\"/; s/\"contradiction\"/\"$3\"/" mnli/model/config.json >config.json
  cp -r mnli/model renamed && cp config.json renamed/config.json
  expect 0 finished --mode eval --task mnli --data-dir MNLI --model renamed
  grep -A 4 per_class out.txt >"first-$1.txt"
  rm -r renamed
done
grep -q '"contradiction"' first-ENTAILMENT.txt || fail "the first logit, in upper case: $(cat first-ENTAILMENT.txt)"
grep -q '"entailment"' first-NEUTRAL.txt || fail "the first logit, named otherwise: $(cat first-NEUTRAL.txt)"
sed 's/"neutral"/"other"/' mnli/model/config.json >config.json
cp -r mnli/model renamed && cp config.json renamed/config.json
expect 2 "but not all of them" --mode eval --task mnli --data-dir MNLI --model renamed

# Models of MNLI whose labels have no names have them in different orders. Without --label-names none is taken.
python3 - <<'PYTHON'
import json
config = json.load(open("mnli/model/config.json"))
config["id2label"] = {str(i): f"LABEL_{i}" for i in range(3)}
config["label2id"] = {f"LABEL_{i}": i for i in range(3)}
json.dump(config, open("renamed/config.json", "w"))
PYTHON
expect 2 'pass --label-names entailment,neutral,contradiction' --mode eval --task mnli --data-dir MNLI --model renamed
for names in entailment,neutral,contradiction contradiction,entailment,neutral; do
  expect 0 finished --mode eval --task mnli --data-dir MNLI --model renamed --label-names $names
  grep -A 1 per_class out.txt | says "\"${names%%,*}\"" || fail "the first logit is not ${names%%,*}: $(cat out.txt)"
done

# Vertex AI's environment names managed data sets. This one has entities; the rows to predict have no annotations.
mkdir managed && cat >managed/training-0.jsonl <<'LINES'
{"textContent": "Ida sings.", "textSegmentAnnotations": [{"endOffset": "3", "displayName": "PER"}]}
{"textContent": "Aunt Ida saw Rome", "textSegmentAnnotations": [{"startOffset": 13, "endOffset": 17, "displayName": "LOC"}, {"endOffset": 8, "displayName": "PER"}]}
LINES
cp managed/training-0.jsonl managed/validation-0.jsonl
export AIP_DATA_FORMAT=jsonl AIP_TRAINING_DATA_URI="$PWD/managed/training-*.jsonl" AIP_VALIDATION_DATA_URI="$PWD/managed/validation-*.jsonl"
expect 0 finished --max-steps 2 --batch-size 2 --job-dir entities
unset AIP_DATA_FORMAT AIP_TRAINING_DATA_URI AIP_VALIDATION_DATA_URI
grep -q '"entity_f1"' entities/metrics.json || fail "managed entities: $(cat entities/metrics.json)"
printf '{"textContent": "Ida saw Rome."}\n' >to_predict.jsonl
expect 0 finished --mode predict --predict-data-file to_predict.jsonl --job-dir entities
[ "$(cut -f 2 entities/predictions.tsv | tr '\n' ' ')" = 'word 0 1 2 3 ' ] || fail "managed entities: $(cat entities/predictions.tsv)"
sed 's/"17"/"170"/; s/: 17/: 170/' managed/training-0.jsonl >beyond.jsonl
expect 3 'beyond.jsonl: line 2' --train-data-file beyond.jsonl --max-steps 2 --job-dir beyond

# Row weights, malformed rows, and flags that have no effect in berth.
printf 'text,label,w\na,x,1\nb,y,0.5\n,x,1\nc,x,2\nd,y,1\n' >weights.csv
expect 3 'line 4' --train-data-file weights.csv --max-steps 2 --job-dir w
expect 0 finished --train-data-file weights.csv --weight-column w --class-weights balanced --label-smoothing 0.1 --skip-bad-rows 1 \
  --max-steps 2 --batch-size 2 --validation-split 0 --job-dir w --steps_per_loop 100 --enable_xla=true
grep -qF -- '--class-weights balanced: \"x\" 1, \"y\" 1' err.txt || fail "says other weights of classes"
grep -q 'left out 1 bad row ' err.txt || fail "does not say what was left out"
grep -q 'steps_per_loop has no effect' err.txt || fail "does not say what has no effect"
finish
