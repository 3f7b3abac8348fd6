#!/usr/bin/env bash
# Tests what a job does with the head of a model that was fine-tuned for something else.
#   heads.sh BERTH
. "$(dirname "$0")/lib.sh"

rows() {
  echo "text,label"
  for i in $(seq 40); do
    shift_by=$((i % $#))
    labels=("$@")
    echo "sentence number $i is about ${labels[$shift_by]},${labels[$shift_by]}"
  done
}
rows red green >two.csv
rows red green blue >three.csv
for i in $(seq 20); do printf '{"tokens": ["red", "fox", "%s"], "ner_tags": ["O", "B-ANIMAL", "O"]}\n' "$i"; done >tags.jsonl
short=(--max-steps 2 --batch-size 4 --validation-split 0 --threads 2)

"$berth" --train-data-file two.csv --job-dir two "${short[@]}" 2>err.txt || fail "two classes: $(tail -n 1 err.txt)"
expect 2 'fine-tuned for 2 outputs, and the job has 3' --train-data-file three.csv --model two/model --job-dir three "${short[@]}"
expect 2 '--ignore_mismatched_sizes' --train-data-file three.csv --model two/model --job-dir three "${short[@]}"
"$berth" --train-data-file three.csv --model two/model --job-dir three --ignore_mismatched_sizes "${short[@]}" 2>err.txt ||
  fail "three classes: $(tail -n 1 err.txt)"
says 'another number of classes: the head is new' <err.txt || fail "a new head is not told"

# Another task has another head, even where the shapes are the same.
"$berth" --task ner --train-data-file tags.jsonl --model two/model --job-dir tags "${short[@]}" 2>err.txt || fail "tags: $(tail -n 1 err.txt)"
says 'fine-tuned for sequence_classification: the head of token_classification is new' <err.txt || fail "the head of tags is not told"

# The same task and the same classes go on with the head.
"$berth" --train-data-file two.csv --model two/model --job-dir again "${short[@]}" 2>err.txt || fail "again: $(tail -n 1 err.txt)"
grep -q 'is new' err.txt && fail "a head that fits is new"

# A folder with weights in another format.
mkdir converted && cp two/model/config.json two/model/vocab.txt converted && : >converted/tf_model.h5
expect 4 'from_tf=True' --train-data-file two.csv --model converted --job-dir other "${short[@]}"
finish
