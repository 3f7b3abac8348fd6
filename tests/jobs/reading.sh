#!/usr/bin/env bash
# Trains on files as people have them, and checks what the log says of how they were read.
#   reading.sh BERTH
. "$(dirname "$0")/lib.sh"

# reads 'PART OF THE LOG' NAME FLAGS...: trains one update in the job NAME.
reads() {
  local says=$1 name=$2
  shift 2
  expect 0 finished --max-steps 1 --batch-size 4 --job-dir "$name" "$@"
  tr -d '\\' <err.txt | says -F -- "$says" || fail "$name: the log does not say '$says'"
}

python3 - <<'PYTHON'
import csv, json
rows = [(f"a small text {i}", [i % 2, (i + 1) % 2, int(i % 3 == 0)]) for i in range(24)]
with open("hot.csv", "w", newline="") as file:
    csv.writer(file).writerows([("text", "labels"), *rows])
with open("hot.jsonl", "w") as file:
    file.writelines(json.dumps({"text": text, "labels": hot, "note": float("nan")}) + "\n" for text, hot in rows)
with open("words.csv", "w", newline="") as file:
    csv.writer(file).writerows([("Sentence #", "Word", "Tag")] +
                               [(f"Sentence: {i}" if w == 0 else "", word, tag) for i in range(12)
                                for w, (word, tag) in enumerate([("Ida", "B-PER"), ("sings", "O")])])
with open("counted.conll", "w") as file:
    file.writelines(f"# {i}\n1\tIda\tB-PER\tO\n2\tsings\tO\tO\n\n" for i in range(12))
with open("pandas.tsv", "w", newline="") as file:
    writer = csv.writer(file, delimiter="\t", lineterminator="\n")
    writer.writerows([("sentence", "label")] + [(f'"so" she said\n{i}', "x\ty" if i % 2 else 'a"b') for i in range(12)])
with open("pos.conll", "w") as file:
    file.writelines("Ida NNP x\nsings VBZ y\n\n" for _ in range(12))
with open("lonely.csv", "w") as file:
    file.writelines(["word,label\n"] + ["Ida,B-PER\nsings,O\n\n"] * 12)
with open("prodigy.jsonl", "w") as file:
    file.writelines(json.dumps({"text": f"text {i}", "label": "ab"[i % 2], "answer": answer}) + "\n"
                    for i in range(12) for answer in ("accept", "reject"))
with open("inclusive.jsonl", "w") as file:
    file.writelines(json.dumps({"text": f"Ida sings {i}", "label": [[0, 2, "PER"]]}) + "\n" for i in range(24))
with open("comma.csv", "w") as file:
    file.writelines(["text;label\n"] + [f"text {i};{i % 7},{i}\n" for i in range(12)])
with open("blank.jsonl", "w") as file:
    file.writelines(json.dumps({"text": f"Ida sings song {i}" if i % 3 else ""}) + "\n" for i in range(120))
with open("scores.jsonl", "w") as file:
    file.writelines(json.dumps({"text": f"Ida sings song {i}" if i % 10 else "", "score": i / 256 if i % 10 else 50.5}) + "\n"
                    for i in range(120))
with open("sentences.tsv", "w") as file:
    file.writelines(["text\tlabels\n"] + [f"Ida sings {i}\tB-PER O O\n" for i in range(12)])
with open("plain.conll", "w") as file:
    file.writelines("Ida B-PER\nsings O\n\n" for _ in range(12))
PYTHON

# Rows without a text are not all that is held out, and a job that an earlier version began keeps its rows.
reads '40 rows without a text are left out' blank --train-data-file blank.jsonl --task mlm --max-seq-length 16
grep -q 'no row to evaluate on' err.txt && fail "rows without a text are held out"
reads '120 rows' scores --train-data-file scores.jsonl
grep -q 'every row to evaluate on' err.txt && fail "rows without a text are held out"
grep -v 'rows without a text are divided' scores/job.json >job.json && cp job.json scores/job.json
rm -r scores/checkpoints scores/metrics.json
expect 0 finished --train-data-file scores.jsonl --max-steps 1 --batch-size 4 --job-dir scores
grep -q 'every row to evaluate on' err.txt || fail "a job of an earlier version holds out other rows"
reads '12 rows, text "text"' sentences --train-data-file sentences.tsv --task ner
# Each file has columns of its own, and the columns of the rows to evaluate on are not the job's.
reads 'the word is column 2 and the tag column 3' own --train-data-file plain.conll --eval-data-file counted.conll
printf 'Ida NNP\tO\nsings\tVBZ\tO\n' | tr ' ' '\t' >three.conll
expect 0 finished --mode predict --predict-data-file three.conll --job-dir own
reads 'labels are lists of 3 numbers 0 and 1' hot --train-data-file hot.csv --label-names red,green,blue
grep -q '"task": "multi_label"' hot/metrics.json || fail "multi-hot lists are no sets of labels"
tr -d ' \n' <hot/job.json | says -F '"labels":["red","green","blue"]' || fail "the names of the labels"
expect 0 finished --mode eval --eval-data-file hot.jsonl --job-dir hot
expect 2 'give one for each' --mode eval --eval-data-file hot.jsonl --job-dir hot --label-names red,green
reads 'says where a sentence begins' words --train-data-file words.csv
cat out.txt err.txt | says '12 rows' || fail "there are not 12 sentences"
reads 'the word is column 2 and the tag column 3' counted --train-data-file counted.conll --task ner
reads 'every word has the tag "O"' alike --train-data-file counted.conll --task ner --text-column 2 --label-column 4
reads 'decimal commas' comma --train-data-file comma.csv
grep -q '"task": "regression"' comma/metrics.json || fail "decimal commas are no numbers"

# The column of IOB tags is the tag wherever it stands. A job's columns are those of its predictions, which are read back.
for _ in $(seq 12); do printf 'B-ACTOR\tIda\nO\tsings\n\n'; done >first.bio
reads 'the word is column 2 and the tag column 1' first --train-data-file first.bio
printf '1 Ida\n2 sings\n\n1 so\n' >counted.txt
expect 0 finished --mode predict --predict-data-file counted.txt --predictions-with-text --job-dir counted
cut -f5 counted/predictions.tsv | tr '\n' ' ' | says 'text Ida sings so' || fail "counted words to predict"
reads 'says where a sentence ends' back --task ner --train-data-file counted/predictions.tsv --label-column prediction --validation-split 0
printf 'Ida sings here.\n\nso\n' >plain.txt
expect 0 finished --mode predict --predict-data-file plain.txt --predictions-with-text --job-dir counted
cut -f5 counted/predictions.tsv | tr '\n' ' ' | says 'text Ida sings here. so' || fail "text to predict tags for"
# The id of a sentence is its own, and not a list of the ids of its words.
printf 'id,sentence_id,word\n1,7,Ida\n2,7,sings\n3,9,so\n' >ids.csv
expect 0 finished --mode predict --predict-data-file ids.csv --job-dir counted
[ "$(cut -f1 counted/predictions.tsv | tr '\n' ' ')" = 'sentence 7 7 9 ' ] || fail "ids of sentences: $(cut -f1 counted/predictions.tsv)"
expect 3 'no column has the tags of entities' --task ner --train-data-file pos.conll --job-dir pos
expect 3 'no column says which sentence it belongs to' --train-data-file lonely.csv --job-dir lonely
printf '{"tokens": ["Ida"]}\n{"tokens": []}\n{"tokens": ["so"]}\n' >none.jsonl
expect 0 finished --mode predict --predict-data-file none.jsonl --job-dir counted
[ "$(cut -f1 counted/predictions.tsv | tr '\n' ' ')" = 'sentence 0 1 2 ' ] || fail "a sentence without words has lost its place"

# A job of spans cuts the texts to predict into the words that it has learned, and keeps lists.
python3 - <<'PYTHON'
import json
with open("spans.jsonl", "w") as file:
    for i in range(24):
        name = ["Mary", "Ida"][i % 2]
        print(json.dumps({"text": f"{name}, so \u4eca\u5929!", "entities": [[0, len(name), "PER"]]}), file=file)
PYTHON
reads 'spans of characters, which become tags' of_spans --train-data-file spans.jsonl
printf '{"text": "Mary, so \u4eca\u5929!"}\n{"text": "[\\"Mary,\\", \\"so\\"]"}\n' >unspanned.jsonl
expect 0 finished --mode predict --predict-data-file unspanned.jsonl --predictions-with-text --job-dir of_spans
[ "$(cut -f5 of_spans/predictions.tsv | tr '\n' ' ')" = 'text Mary , so 今 天 ! Mary, so ' ] || fail "words of spans: $(cut -f5 of_spans/predictions.tsv)"
printf 'Mary, so\n' >unspanned.txt
expect 0 finished --mode predict --predict-data-file unspanned.txt --predictions-with-text --job-dir of_spans
[ "$(cut -f5 of_spans/predictions.tsv | tr '\n' ' ')" = 'text Mary , so ' ] || fail "words of lines: $(cut -f5 of_spans/predictions.tsv)"
expect 0 finished --mode predict --predict-data-file unspanned.txt --predictions-with-text --model of_spans --predictions-file -
grep -q '"cuts_words": true' of_spans/job.json || fail "job.json does not record how words were cut"
! grep -q cuts_words counted/job.json || fail "words of CoNLL are not cut"
reads '12 rows were left out' rejected --train-data-file prodigy.jsonl
reads '24 of 24 spans of column "label" begin or end inside a word' cut --train-data-file inclusive.jsonl

printf 'text,label\na,x\nb,y\nc,z\n' >alone.csv
reads 'every row has a label of its own' alone --train-data-file alone.csv
reads 'no row is left to evaluate on' none --train-data-file alone.csv
{ echo text,label; for i in $(seq 12); do printf 'text %s,True\ntext %s,1\n' "$i" "$i"; done; } >truths.csv
reads 'True and 1, or False and 0, are different labels' truths --train-data-file truths.csv
for _ in $(seq 12); do printf 'Ida PER-B\nsings o\n\n'; done >unusual.conll
reads 'some tags here are written otherwise' unusual --train-data-file unusual.conll --task ner --text-column 1 --label-column 2
for _ in $(seq 12); do printf 'Ida PER\nsings O\nRome LOC\n\n'; done >bare.conll
reads 'some tags here are written otherwise' bare --train-data-file bare.conll
reads 'the job evaluates on the rows that it trains on' bare-again --train-data-file bare.conll --eval-data-file bare.conll
for _ in $(seq 12); do printf 'Ida B-PER\nEik E-PER\nsings O\nRome S-LOC\n\nIda B-PER\nEik I-PER\nRome B-LOC\n\n'; done >schemes.conll
reads '24 of the first 48 entities end without a tag such as E-' schemes --train-data-file schemes.conll
# Files that were joined keep their headers, which are no rows.
{ for _ in 1 2; do echo text,label; for i in $(seq 12); do echo "text $i,$((i % 2))"; done; done; } >joined_files.csv
reads 'the header stands again on line 14' joined_files --train-data-file joined_files.csv
cat out.txt err.txt | says '24 rows' || fail "a header is a row"
for i in $(seq 12); do echo "__label__a text $i"; echo "__label__b __label__a text"; done >fast.txt
reads 'words that begin with __label__ are the labels' fast --train-data-file fast.txt
grep -q '"task": "multi_label"' fast/metrics.json || fail "several labels of fastText are no set"
{ echo text,label; for i in $(seq 12); do echo "text $i,a;b"; echo "text,"; done; } >sets.csv
reads '12 rows have no label, which teaches that no label is right' sets --train-data-file sets.csv --task multi_label --label-separator ';'

# What berth writes it reads: labels and texts with quotes, tabs and line breaks.
reads 'quoted as pandas quotes them' pandas --train-data-file pandas.tsv
expect 0 finished --mode predict --predict-data-file pandas.tsv --predictions-with-text --job-dir pandas
python3 - <<'PYTHON' || fail "predictions that are not read back"
import csv
with open("pandas/predictions.tsv", newline="") as file:
    header, *rows = csv.reader(file, delimiter="\t")
assert header == ["id", "prediction", 'a"b', "x\ty", "text"], header
assert [row[-1] for row in rows] == [f'"so" she said\n{i}' for i in range(12)], rows
assert {row[1] for row in rows} <= {'a"b', "x\ty"}, rows
PYTHON
reads 'quoted as pandas quotes them' again --train-data-file pandas/predictions.tsv --text-column text --label-column prediction --validation-split 0

# A contest's folder: its test split has no labels, and is not trained on.
mkdir contest
{ echo text,label; for i in $(seq 24); do echo "text $i,$((i % 2))"; done; } >contest/train.csv
printf 'text\nno label\n' >contest/test.csv
printf 'id,label\n1,0\n' >contest/sample_submission.csv
reads 'no labels in the split to evaluate on' contest_job --train-data-file contest
printf 'text,label\na,0\n' >contest/more.csv
expect 3 'not known which of these are for training' --train-data-file contest --max-steps 1 --job-dir refused

# JSON lines of SQuAD's articles, and the pairs with which spaCy 2 is trained.
python3 - <<'PYTHON'
import json
answer = {"id": "1", "question": "Who sings?", "answers": [{"text": "Ida", "answer_start": 0}]}
paragraphs = [{"context": f"Ida sings {i}", "qas": [answer]} for i in range(12)]
with open("squad.jsonl", "w") as file:
    file.writelines(json.dumps({"title": "t", "paragraphs": [each]} if i % 2 else each) + "\n" for i, each in enumerate(paragraphs))
pairs = [[f"Ida sings {i}", {"entities": [[0, 3, "PER"]]}] for i in range(12)]
json.dump(pairs, open("pairs.json", "w"))
with open("pairs.jsonl", "w") as file:
    file.writelines(json.dumps(pair) + "\n" for pair in pairs)
PYTHON
reads 'task: question_answering, as squad.jsonl has its labels' squad --train-data-file squad.jsonl
grep -q '"task": "question_answering"' squad/metrics.json || fail "lines of SQuAD are no questions"
for name in pairs.json pairs.jsonl; do
  reads 'has spans of characters, which become tags' "$name-job" --train-data-file $name
  tr -d ' \n' <"$name-job/job.json" | says -F '"labels":["B-PER","O"]' || fail "$name: other tags than those of its spans"
done

# Texts of both halves, one text with two labels, a quote that holds rows, a table with a log of its files.
{ echo text,label; for i in $(seq 40); do echo "a long text $i,$((i % 2))"; done; } >whole.csv
head -n 9 whole.csv >part.csv
reads '8 of the 8 texts to evaluate on are also texts to train on' shared --train-data-file whole.csv --eval-data-file part.csv
{ echo text,label; for i in $(seq 12); do printf 'text %s,a\ntext %s,b\n' "$i" "$i"; done; } >twice.csv
reads '12 of the first 24 rows have the text of an earlier row and another label' twice --train-data-file twice.csv
{ cat whole.csv; printf '"so it began,0\n'; for i in 1 2 3; do echo "another $i,1"; done; printf 'the end",0\n'; } >swallowed.csv
reads 'the quote that opens on line 42 closes on line 46' swallowed --train-data-file swallowed.csv
{ cat whole.csv; printf '"so it began,0\nthe end",1\n'; } >one_swallowed.csv
reads 'the quote that opens on line 42 closes on line 43, and its lines look like rows' one-swallowed --train-data-file one_swallowed.csv
mkdir -p lake/_delta_log && cp whole.csv lake/part-0.csv && echo '{}' >lake/_delta_log/00000000000000000000.json
expect 3 'is a table of Delta Lake' --train-data-file lake --max-steps 1 --job-dir lake_job

{ echo sentence1,sentence2,score; for i in $(seq 12); do echo "one $i,two $i,0.$((i % 9))"; done; } >low.csv
reads 'the largest score is 0.8, and --max-similarity 5' low --task similarity --max-similarity 5 --train-data-file low.csv

# Scores of another scale than the job has learnt.
{ echo text,score; for i in $(seq 0 20); do echo "text $i,$((i / 4)).$((i % 4 * 25))"; done; } >fives.csv
{ echo text,score; for i in $(seq 10 20); do echo "text $i,0.$i"; done; } >ones.csv
expect 0 finished --train-data-file fives.csv --max-steps 1 --batch-size 4 --job-dir fives
expect 0 finished --mode eval --eval-data-file ones.csv --job-dir fives
says -F 'the scores of ones.csv go up to 0.2, and the scores of the rows that the job was trained on up to 5' <err.txt ||
  fail "another scale than the job's"
expect 0 finished --mode eval --eval-data-file fives.csv --job-dir fives
grep -q 'different scales' err.txt && fail "the job's own scale"

# Ids keep all their digits.
printf '{"id": 18446744073709551615, "text": "a"}\n{"id": 18446744073709551614, "text": "b"}\n{"id": 1234567.0, "text": "c"}\n' >ids.jsonl
expect 0 finished --mode predict --predict-data-file ids.jsonl --job-dir shared
[ "$(cut -f1 shared/predictions.tsv | tr '\n' ' ')" = 'id 18446744073709551615 18446744073709551614 1234567 ' ] ||
  fail "ids: $(cut -f1 shared/predictions.tsv)"

printf 'id,text\n7,a\n8,b\n7,c\n' >equal_ids.csv
expect 0 finished --mode predict --predict-data-file equal_ids.csv --job-dir shared
tr -d '\\' <err.txt | says -F '1 row has the id of an earlier row, such as "7"' || fail "equal ids"
printf '{"data": [{"paragraphs": [{"context": "Ida", "context": "Bo", "qas": []}]}]}' >two_contexts.json
expect 3 'has the key "context" twice in one object' --train-data-file two_contexts.json --max-steps 1 --job-dir refused
for _ in $(seq 12); do printf 'Ida\tPER\nsings\t_\n\n'; done >marks.conll
reads 'some tags here are written otherwise' marks --train-data-file marks.conll --task ner
for i in $(seq 24); do printf '{"text": "text %s", "labels": ["only"]}\n' "$i"; done >only.jsonl
reads 'the only label is "only"' only --train-data-file only.jsonl

# Blanks around an answer are no part of it. An older job, which learnt such rows as if they had no answer, ends.
for i in $(seq 12); do
  printf '{"question": "who sings?", "context": "so Ida %s sings", "answers": {"text": [" Ida "], "answer_start": [2]}}\n' "$i"
done >blanks.jsonl
reads 'label: "Ida" from character 3' blanks --train-data-file blanks.jsonl
python3 - <<'PYTHON' || fail "job.json does not record the blanks of answers"
import json
job = json.load(open("blanks/job.json"))
assert "blanks around answers are left out" in job.pop("reading")["rules"], job
json.dump(job, open("blanks/job.json", "w"))
PYTHON
expect 5 'blanks around answers are left out' --train-data-file blanks.jsonl --max-steps 2 --batch-size 4 --job-dir blanks

# A job that an earlier version began, which recorded no reading, is not mixed with another one. One whose rows are read as before goes on.
printf 'text,label\na,0\nb,1\nc,0\nd,1\n' >plain.csv
expect 0 finished --train-data-file plain.csv --max-steps 1 --batch-size 4 --job-dir plain
python3 - <<'PYTHON' || fail "job.json records no reading"
import json
for name, rules in ("hot", ["multi-hot lists"]), ("plain", []):
    job = json.load(open(f"{name}/job.json"))
    assert job.pop("reading")["rules"] == rules + ["rows without a text are divided like others"], job
    json.dump(job, open(f"{name}/job.json", "w"))
PYTHON
expect 5 'read its rows in another way than this version: multi-hot lists' --max-steps 2 --batch-size 4 --job-dir hot \
  --train-data-file hot.csv --label-names red,green,blue
expect 5 'may have read its labels in another way than this version: multi-hot lists' --mode eval --eval-data-file hot.jsonl --job-dir hot
expect 0 finished --mode eval --eval-data-file plain.csv --job-dir plain
# The identity of its checkpoints does not have the rule of rows without a text.
find plain -mindepth 1 ! -name job.json -delete
expect 0 finished --train-data-file plain.csv --max-steps 2 --batch-size 4 --job-dir plain
grep -q 'rows without a text' plain/job.json && fail "an older job has a new rule"
expect 0 finished --train-data-file plain.csv --max-steps 3 --batch-size 4 --job-dir plain
grep -q 'resuming after update 2' err.txt || fail "an older job began again"
# Rows that this version refuses.
printf 'text,label\na,0\nb,1\nc,None\nd,1\n' >plain.csv
python3 - <<'PYTHON'
import json
job = json.load(open("plain/job.json"))
job.pop("reading")
json.dump(job, open("plain/job.json", "w"))
PYTHON
expect 5 'an earlier version of berth' --max-steps 4 --batch-size 4 --job-dir plain --train-data-file plain.csv
# The same where the job has recorded its reading: the bytes are those that it has read.
recorded() { # JOB FILE: writes the checksum of FILE into the record of JOB, as if the job had begun with it
  python3 - "$@" <<'PYTHON'
import json, sys
job, file = sys.argv[1:]
data, crc = open(file, "rb").read(), 0xFFFFFFFF
for byte in data:
    crc ^= byte
    for _ in range(8):
        crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
record = json.load(open(f"{job}/job.json"))
source = next(s for s in record["sources"] if s["uri"].endswith(file))
source.update(size=len(data), crc32c=f"{crc ^ 0xFFFFFFFF:08x}")
record.setdefault("reading", {"rules": [], "rows": "00000000", "labels": {}})
json.dump(record, open(f"{job}/job.json", "w"))
PYTHON
}
recorded plain plain.csv
expect 5 'an earlier version of berth' --max-steps 4 --batch-size 4 --job-dir plain --train-data-file plain.csv
echo 'e,None' >>plain.csv
expect 3 'line 4' --max-steps 4 --batch-size 4 --job-dir plain --train-data-file plain.csv
# And where the model is refused, as the vocabulary of a tokenizer that has more pieces by now.
printf 'text,label\na,0\nb,1\nc,0\nd,1\n' >few.csv
cp -r "$tiny" few_pieces
expect 0 finished --train-data-file few.csv --model few_pieces --max-steps 1 --batch-size 4 --job-dir few
sed -i 's/"vocab_size": [0-9]*/"vocab_size": 9/' few_pieces/config.json
expect 2 'vocab_size is 9' --train-data-file few.csv --model few_pieces --max-steps 2 --batch-size 4 --job-dir few
recorded few few_pieces/config.json
expect 5 'an earlier version of berth' --train-data-file few.csv --model few_pieces --max-steps 2 --batch-size 4 --job-dir few
printf 'text,label\na,0\nb,1\nc,0\nd,1\n' >plain.csv

# What a job found out about its labels holds in --mode eval.
python3 - <<'PYTHON'
import json
with open("index.jsonl", "w") as file:
    for text, labels in [("x", [0]), ("y", [1]), ("z", [0, 1])] * 10:
        file.write(json.dumps({"text": text, "labels": labels}) + "\n")
with open("index_eval.jsonl", "w") as file:
    file.write(json.dumps({"text": "x", "labels": [0, 1]}) + "\n" + json.dumps({"text": "z", "labels": [0, 1]}) + "\n")
with open("joined.csv", "w") as file:
    file.write("text,label\n" + "a,r;g;b\nb,g\nc,b;r\nd,r\ne,g;b\n" * 4)
with open("comma_eval.csv", "w") as file:
    file.write("text;label\nx;0,125\n")
with open("latin.csv", "w", encoding="latin-1") as file:
    file.write("text~label\n" + "caf\u00e9~a\nx~b\n" * 4)
PYTHON
reads 'task: multi_label' index --train-data-file index.jsonl --eval-data-file index_eval.jsonl
expect 0 finished --mode eval --eval-data-file index_eval.jsonl --job-dir index
python3 - <<'PYTHON' || fail "--mode eval reads lists otherwise than the job"
import json
out = open("out.txt").read()
scores = json.loads(out[out.index("{"):])["eval"]
job = json.load(open("index/metrics.json"))["eval"]
assert scores["f1_micro"] == job["f1_micro"], (scores, job)
assert json.load(open("index/job.json"))["reading"]["labels"] == {"lists": "names"}
PYTHON
reads "labels are separated by ';'" joined --train-data-file joined.csv --task multi_label
printf 'text,label\na,r;g\nb,r;g\n' >joined_eval.csv
expect 0 finished --mode eval --eval-data-file joined_eval.csv --job-dir joined
expect 0 finished --mode eval --eval-data-file comma_eval.csv --job-dir comma
reads 'rows' latin --train-data-file latin.csv --encoding latin-1 --delimiter '~'
expect 0 finished --mode eval --eval-data-file latin.csv --job-dir latin

# A finished job reads the columns that it was trained on, whatever other columns a file has.
python3 - <<'PYTHON'
rows = [f"text {i},{'ab'[i % 2]}\n" for i in range(24)]
open("body.csv", "w").writelines(["body,category\n"] + rows)
open("more.csv", "w").writelines(["text,label,body,category\n"] + ["summary,a," + row for row in rows])
open("pair.csv", "w").writelines(["sentence1,sentence2\n"] + [f"one {i},two\n" for i in range(4)])
PYTHON
expect 0 finished --train-data-file body.csv --model "$tiny" --max-steps 1 --batch-size 4 --job-dir body
for file in body more; do
  expect 0 . --mode predict --predict-data-file $file.csv --job-dir body --predictions-file $file.tsv
  "$berth" --mode eval --eval-data-file $file.csv --job-dir body >$file.json 2>/dev/null || fail "no evaluation of $file.csv"
done
cmp body.tsv more.tsv || fail "the column of texts is not the job's"
python3 -c 'import json
body, more = (json.load(open(name))["eval"] for name in ("body.json", "more.json"))
assert body["loss"] == more["loss"] and body["confusion_matrix"] == more["confusion_matrix"]' || fail "the column of labels is not the job's"
expect 3 'was trained on one text' --mode predict --predict-data-file pair.csv --job-dir body --predictions-file pair.tsv

# What cannot be a label or a text is refused by its row and column.
python3 - <<'PYTHON'
import json
def jsonl(name, rows):
    with open(name, "w") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
jsonl("odd.jsonl", [{"text": f"t{i}", "labels": [1, 1, 0] if i % 2 else [0, 1, 0]} for i in range(20)] + [{"text": "u", "labels": []}])
jsonl("object.jsonl", [{"data": {"text": "a"}, "label": "a"}, {"data": {"text": "b"}, "label": "b"}])
jsonl("tokens.jsonl", [{"tokens": ["the", "good"], "label": "ab"[i % 2]} for i in range(8)])
jsonl("numbers.jsonl", [{"tokens": ["Ida", "sings"], "ner_tags": [1 - i % 2, i % 2]} for i in range(12)])
jsonl("list.jsonl", [{"text": ["the", "good"], "label": "ab"[i % 2]} for i in range(8)])
PYTHON
expect 3 'line 21: label "[]" is not a list of 3' --train-data-file odd.jsonl --max-steps 1 --job-dir odd
expect 3 'column "data" holds objects with the fields "text"' --train-data-file object.jsonl --max-steps 1 --job-dir odd
expect 3 'column "text" holds lists, not texts' --train-data-file list.jsonl --max-steps 1 --job-dir odd
reads 'lists of words, which are joined' tokens --train-data-file tokens.jsonl
reads 'the tags are numbers' numbers --train-data-file numbers.jsonl
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n' >pointer.csv
expect 3 'git lfs pull' --train-data-file pointer.csv --max-steps 1 --job-dir odd
gzip -c plain.csv >packed.csv
reads 'is compressed, although' packed --train-data-file packed.csv
printf 'text,stars\na,1\nb,5\nc,3\nd,1\n' >stars.csv
reads '--task regression learns them as numbers' stars --train-data-file stars.csv

# The tokenizer's rules count, too. Versions of 2026-11 wrote them beside the reading of the rows.
cp -r "$tiny" left && python3 - <<'PYTHON'
import json, os
config = json.load(open("left/tokenizer_config.json")) if os.path.exists("left/tokenizer_config.json") else {}
json.dump({**config, "truncation_side": "left"}, open("left/tokenizer_config.json", "w"))
PYTHON
expect 0 finished --train-data-file plain.csv --model left --max-steps 1 --batch-size 4 --job-dir left-job
for rules in kept dropped; do
  python3 - $rules <<'PYTHON' || fail "job.json records no reading of the tokenizer"
import json, sys
job = json.load(open("left-job/job.json"))
rules = job["reading"].pop("tokenizer") if "tokenizer" in job["reading"] else job.pop("tokenizer_rules")
assert "truncation_side counts" in rules, job
job["tokenizer_rules"] = rules if sys.argv[1] == "kept" else []
json.dump(job, open("left-job/job.json", "w"))
PYTHON
  if [ $rules = kept ]; then
    expect 0 finished --train-data-file plain.csv --model left --max-steps 2 --batch-size 4 --job-dir left-job
  else
    expect 5 'read its tokenizer or model in another way than this version' --train-data-file plain.csv --model left --max-steps 3 --batch-size 4 --job-dir left-job
  fi
done

finish
