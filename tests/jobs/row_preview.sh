#!/usr/bin/env bash
# Checks the rows that a training shows as it read them: for each task, for each format of files, and for hostile texts.
#   row_preview.sh BERTH
. "$(dirname "$0")/lib.sh"

# shows NAME 'ROW AS READ' FLAGS...: the log, the dry run in both forms and the report show this row. They escape quotes in their own ways.
shows() {
  local name=$1 row=$2
  shift 2
  local train=(--max-steps 1 --batch-size 4 --validation-split 0 --mode train --job-dir "$name" "$@")
  expect 0 finished "${train[@]}"
  tr -d '\\' <err.txt | says -F -- "$row" || fail "$name: the log does not show the row"
  python3 - "$name/report.html" <<'PYTHON' || fail "$name: the report shows no rows"
import sys, xml.dom.minidom
page = xml.dom.minidom.parse(sys.argv[1])
(table,) = [t for t in page.getElementsByTagName("table") if "as the model takes them" in t.toxml()]
assert 1 <= len(table.getElementsByTagName("tr")) - 1 <= 3, "not three rows"
PYTHON
  "$berth" "${train[@]}" --job-dir planned --dry-run >plan.txt 2>/dev/null || fail "$name: the dry run"
  [ "$(grep -c '^  label ' plan.txt)" -ge 1 ] || fail "$name: the dry run shows no row: $(cat plan.txt)"
  "$berth" "${train[@]}" --job-dir planned --dry-run --log-format json >plan.json 2>/dev/null || fail "$name: the dry run"
  python3 - <<'PYTHON' || fail "$name: the dry run as JSON"
import json
rows = json.loads(open("plan.json").read().splitlines()[-1])["rows"]
assert 1 <= len(rows) <= 3 and all(row["token_count"] > 0 and row["tokens"] for row in rows), rows
PYTHON
}

# Each task.
printf 'text,label\nA goal was scored,sport\nSalt the soup,food\nA second goal,sport\nOne more soup,food\n' >class.csv
shows class 'label: "sport", class 1' --train-data-file class.csv
grep -q 'row 0: .*\[CLS\] a goal .*\[SEP\] (' err.txt || fail "class: the tokens are not shown"
printf 'text,label\nA goal was scored,1\nSalt the soup,0\nA second goal,1\n' >numbers.csv
shows named 'label: "sport", class 1' --train-data-file numbers.csv --label-names food,sport
printf 'sentence1,sentence2,label\nA cat sits,A cat is sitting,same\nIt rains,Bread is good,other\nIt pours,It rains,same\n' >pair.csv
shows pair '"A cat sits" and "A cat is sitting" becomes [CLS]' --train-data-file pair.csv
printf 'sentence1,sentence2,score\nA cat sits,A cat is sitting,4.75\nIt rains,Bread is good,0.25\n' >score.csv
shows score 'label: 4.75' --train-data-file score.csv --task regression
shows similarity 'label: 4.75, learnt as 0.95' --train-data-file score.csv --task similarity --max-similarity 5
printf '{"text": "a rude one", "labels": ["x", "y"]}\n{"text": "nothing", "labels": []}\n{"text": "c", "labels": ["y"]}\n' >sets.jsonl
shows sets 'label: "x" (0), "y" (1)' --train-data-file sets.jsonl
grep -q 'label: none of the 2 labels' err.txt || fail "sets: a row without labels"
printf 'Aunt B-PER\nIda I-PER\nsings O\n\nRome B-LOC\nis O\nfar O\n' >words.conll
shows words 'label: Aunt/B-PER (1) Ida/I-PER (2) sings/O (3)' --train-data-file words.conll
cat >squad.json <<'JSON'
{"data": [{"paragraphs": [{"context": "Ida lives in Rome, and she sings there every day of the year.", "qas": [
  {"id": "a", "question": "Where does Ida live?", "answers": [{"text": "Rome", "answer_start": 13}]},
  {"id": "b", "question": "What does she do?", "answers": [{"text": "sings", "answer_start": 27}]}]}]}]}
JSON
shows squad 'label: "Rome" from character 13, tokens ' --train-data-file squad.json
shows windows 'of window ' --train-data-file squad.json --max-seq-length 20 --doc-stride 2
tr -d '\\' <err.txt | says 'cut: becomes [0-9]* windows of at most 20 tokens' || fail "windows: they are not counted"
for i in $(seq 40); do echo "a text number $i of a small corpus"; done >corpus.txt
shows mlm 'label: 15 % of the tokens, which are hidden anew' --train-data-file corpus.txt --task mlm --max-seq-length 32
shows lines '"a text number 1 of a small corpus" becomes' --train-data-file corpus.txt --task mlm --line-by-line
sed 's/"model_type": "bert"/"model_type": "electra", "embedding_size": 64/; s/BertModel/ElectraModel/' "$tiny/config.json" >electra.json
shows electra 'label: 15 % of the tokens' --train-data-file corpus.txt --task electra --init random --model-config electra.json \
  --vocab-file "$tiny/vocab.txt"
shows taught 'label: what the teacher makes of it' --train-data-file corpus.txt --task mlm --teacher "$tiny"
printf '{"text": "a", "text_pair": "b"}\n{"text": "c d", "text_pair": "e"}\n{"text": "f", "text_pair": "g"}\n' >partners.jsonl
shows partners 'label: the second text belongs to the first one' --train-data-file partners.jsonl --task similarity

# What is cut, and weights.
shows cut 'cut: ' --train-data-file "$sample" --max-seq-length 8
tr -d '\\' <err.txt | says 'cut: [0-9]* of [0-9]* tokens at --max-seq-length 8' || fail "cut: the tokens are not counted"
printf 'text,label,w\none,a,2\ntwo,b,1\nthree,a,0.5\n' >weights.csv
shows weights ', weight 2' --train-data-file weights.csv --weight-column w

# Each format.
tail -n +2 class.csv | awk -F, 'BEGIN { print "text\tlabel" } { print $1 "\t" $2 }' >class.tsv
printf '{"text": "A goal was scored", "label": "sport"}\n{"text": "Salt the soup", "label": "food"}\n' >class.jsonl
gzip -k class.csv
mkdir packed && cp class.csv packed/ && tar czf class.tar.gz packed
for file in class.tsv class.jsonl class.csv.gz class.tar.gz; do
  shows "of_$file" '"A goal was scored" becomes [CLS]' --train-data-file "$file"
done
shows pickle '" becomes [CLS]' --train-data-file "$sample"
tar xf "$repository/tests/testdata/readings.tar" multi_hot.parquet multi_hot.pickle 2>/dev/null || tar xf "$repository/tests/testdata/readings.tar"
for file in multi_hot.parquet multi_hot.pickle; do
  shows "of_$file" '" becomes [CLS]' --train-data-file "$(find . -name $file | sed -n 1p)"
done
expect 0 finished --mode prepare --train-data-file class.csv --model "$tiny" --export-dir records
shows records 'row 0: [CLS]' --train-data-file "$(find records -name '*train*record*' | sed -n 1p)" \
  --input-meta-data-path "$(find records -name '*meta_data*' | sed -n 1p)"

# Hostile texts and labels become visible and change nothing: terminals, pages and lines stay as they are.
python3 - <<'PYTHON'
import csv
evil = "\x1b[31mred\x1b]0;title\x07 \u202egnp.exe\u2066 <script>alert(1)</script> & 'q' \"\n  label       forged\r\x9b2J\x00"
with open("evil.csv", "w", newline="") as file:
    csv.writer(file).writerows([("text", "label"), (evil, "<b>\x1b[1mx\u202e"), ("plain text", "y"), (evil * 20, "y")])
PYTHON
shows evil 'u202e' --train-data-file evil.csv
cat err.txt plan.txt plan.json evil/report.html >all.txt
[ "$(LC_ALL=C grep -ac $'[\x1b\x07\r]' all.txt)" = 0 ] || fail "a control character is shown as it is"
[ "$(grep -c $'\u202e\|\u2066' all.txt)" = 0 ] || fail "a bidirectional control is shown as it is"
[ "$(grep -c '<script>alert' evil/report.html)" = 0 ] || fail "the report holds a script of the data"
[ "$(grep -c '^  label *forged' plan.txt)" = 0 ] || fail "a text forges a line of the dry run"

# No text is shown where that is not wanted.
printf 'text,label\nsecretword one,a\nsecretword two,b\nsecretword three,a\n' >private.csv
expect 0 finished --mode train --train-data-file private.csv --max-steps 1 --no-row-preview --job-dir private
[ "$(cat err.txt out.txt private/report.html | grep -c secretword)" = 0 ] || fail "--no-row-preview shows a text"
"$berth" --mode train --train-data-file private.csv --no-row-preview --job-dir planned --dry-run >out.txt 2>err.txt
[ "$(cat err.txt out.txt | grep -c secretword)" = 0 ] || fail "--no-row-preview --dry-run shows a text"
# Warnings of odd texts and labels name rows by their numbers.
{ echo text,label; for i in $(seq 40); do echo "secretword $i &amp; a,a"; done; echo 'total,b'; } >odd.csv
expect 0 finished --mode train --train-data-file odd.csv --max-steps 1 --no-row-preview --job-dir odd
says 'such as text 1, have entities of HTML' <err.txt || fail "no warning of odd texts"
[ "$(grep -c 'secretword\|"total"' err.txt)" = 0 ] || fail "--no-row-preview shows an odd text: $(grep 'secretword\|"total"' err.txt)"
expect 0 finished --mode train --train-data-file private.csv --max-steps 1 --job-dir private  # the flag is no part of a job

# Many classes: the evaluation prints a summary and keeps the matrix in a file. Few classes are printed as a whole.
python3 - <<'PYTHON'
with open("many.csv", "w") as file:
    file.writelines(["text,label\n"] + [f"word{i % 150} text,class {i % 150}\n" for i in range(450)])
PYTHON
expect 0 finished --train-data-file many.csv --max-steps 2 --job-dir many
expect 0 finished --mode eval --eval-data-file many.csv --job-dir many
[ "$(wc -l <out.txt)" -lt 100 ] || fail "an evaluation of 150 classes prints $(wc -l <out.txt) lines"
python3 - <<'PYTHON' || fail "the summary of many classes"
import json
shown, kept = json.load(open("out.txt")), json.load(open("many/evaluation.json"))
assert shown["details"] == "many/evaluation.json" and "confusion_matrix" not in shown["eval"], shown
assert shown["eval"]["classes"] == 150 and len(shown["eval"]["worst_classes"]) == 10, shown
assert len(kept["eval"]["confusion_matrix"]) == 150 and len(kept["eval"]["per_class"]) == 150
assert shown["eval"]["accuracy"] == kept["eval"]["accuracy"]
PYTHON
cp out.txt summary.txt
expect 0 finished --mode eval --eval-data-file many.csv --model many/model
grep -q confusion_matrix out.txt || fail "without a job directory, the matrix is lost"
expect 0 finished --train-data-file class.csv --eval-data-file class.csv --max-steps 1 --job-dir few
expect 0 finished --mode eval --eval-data-file class.csv --job-dir few
grep -q confusion_matrix out.txt || fail "an evaluation of two classes prints no matrix"
[ ! -e few/evaluation.json ] || fail "an evaluation of two classes writes a file"
finish
