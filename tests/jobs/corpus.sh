#!/usr/bin/env bash
# Preparation of text for pre-training: what is kept, in which order and form, and what the report says.
#
#     tests/jobs/corpus.sh BERTH
. "$(dirname "$0")/lib.sh"

# Documents in three kinds of files: good ones, copies, near copies and noise.
mkdir corpus
python3 - <<'PYTHON'
import gzip, json, random
random.seed(1)
words = ["".join(random.choices("abcdefghijklmnopqrstuvwxyz", k=random.randint(2, 9))) for _ in range(3000)]
def text(count): return " ".join(random.choices(words, k=count))
rows = [text(60) for _ in range(300)]
with open("corpus/a.txt", "w") as f:
    for row in rows[:100]: f.write(row + "\n")
    f.write(rows[0] + "\n")                 # a copy
    f.write("  " + rows[1].replace(" ", "  ") + "\n")   # a copy after normalization
    f.write(rows[2] + " more\n")            # a near copy
    f.write("tiny\n12 34 56 78 90 12 34 56 78 90 12 34 56 78\n")
with gzip.open("corpus/b.jsonl.gz", "wt") as f:
    for row in rows[100:200]: f.write(json.dumps({"id": 1, "text": row}) + "\n")
    f.write(json.dumps({"id": 1, "text": "Cafe\u0301 " + text(40) + "\nsecond \"line\"\\"}) + "\n")
with open("corpus/c.csv", "w") as f:
    f.write("sentence,label\n")
    for row in rows[200:]: f.write(row + ",0\n")
PYTHON

prepare=(--mode prepare --task mlm --train-data-file corpus)
expect 0 'finished' "${prepare[@]}" --export-dir one
python3 - <<'PYTHON' || fail "the texts or the report of one are wrong"
import json, unicodedata
texts = [json.loads(line) for line in open("one/train.jsonl")]
assert all(list(row) == ["text"] for row in texts)
assert len(texts) == 301, len(texts)
text = texts[200]["text"]
assert text.startswith("Caf\u00e9 ") and text.endswith("\nsecond \"line\"\\"), text
report = json.load(open("one/cleaning_report.json"))
assert report["read"]["documents"] == 306 and report["kept"]["documents"] == 301
removed = {name: rule["documents"] for name, rule in report["removed"].items() if rule["documents"]}
assert removed == {"too_short": 1, "too_few_letters": 1, "duplicate": 2, "near_duplicate": 1}, removed
example = report["removed"]["near_duplicate"]["examples"][0]
assert example["where"].endswith("corpus/a.txt, row 103") and "kept document 3" in example["measured"], example
PYTHON
grep -q 'kept 301' err.txt || fail "the log does not count the documents"

# The number of threads changes nothing. Shards hold the same lines.
expect 0 'finished' "${prepare[@]}" --export-dir threads --threads 7
cmp -s one/train.jsonl threads/train.jsonl || fail "the number of threads changes the texts"
cmp -s one/cleaning_report.json threads/cleaning_report.json || fail "the number of threads changes the report"
expect 0 'finished' "${prepare[@]}" --export-dir shards --num-shards 3 --compress gzip
for shard in 0 1 2; do gzip -dc "shards/train-0000$shard-of-00003.jsonl.gz"; done | cmp -s - one/train.jsonl ||
  fail "the shards hold other lines"

# Rules can be turned off, and prepared texts can be cleaned again.
expect 0 'finished' "${prepare[@]}" --export-dir all --min-document-length 0 --min-document-words 0 --min-letter-ratio 0 \
  --max-repetition 0 --drop-duplicates false --near-duplicate-threshold 0
[ "$(wc -l <all/train.jsonl)" = 306 ] || fail "rules that are off removed documents"
expect 0 'finished' --mode prepare --task mlm --train-data-file one/train.jsonl --export-dir again
cmp -s one/train.jsonl again/train.jsonl || fail "cleaning again changes the texts"

# With a tokenizer, shards of tokens are written. They do not depend on the number of threads either.
for i in {10..31}; do sed "s/\([a-z]\) \([a-z]\)/\1$i \2/g" corpus/a.txt; done >many.txt
tokens=(--mode prepare --task mlm --train-data-file many.txt --vocab-file vocab.txt --shard-size 1 --max-seq-length 64
  --near-duplicate-threshold 0)
{ printf '[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n'; printf '%s\n' {a..z} {0..9} '##'{a..z} '##'{0..9}; } >vocab.txt
expect 0 'finished' "${tokens[@]}" --export-dir tokens
ls tokens | tr "\n" " " | says "^cleaning_report.json train-00000-of-00003.tokens train-00001-of-00003.tokens train-00002" ||
  fail "the shards are $(ls tokens)"
expect 0 'finished' "${tokens[@]}" --export-dir tokens-threads --threads 5
for shard in tokens/*.tokens; do
  cmp -s "$shard" "tokens-threads/${shard#tokens/}" || fail "the number of threads changes $shard"
done
"$berth" --mode inspect tokens/train-00001-of-00003.tokens | says 'shard 2 of 3 of tokens' || fail "inspect does not know shards"
"$berth" --mode inspect --json tokens/train-00001-of-00003.tokens | says '"shard":2,"shards":3' || fail "inspect --json of a shard"
head -c 3000 tokens/train-00001-of-00003.tokens >cut.tokens
expect 3 'cut.tokens: byte' --mode inspect cut.tokens
expect 2 'shard-size' "${tokens[@]}" --export-dir x --num-shards 2
expect 2 'tokenizer' "${prepare[@]}" --export-dir x --shard-size 1
expect 5 'of another preparation' "${tokens[@]}" --export-dir tokens --shard-size 64

# --task mlm trains on the shards. Whatever is wrong with them is named before the first update.
trains=(--task mlm --vocab-file vocab.txt --model-config config.json --init random --max-seq-length 64 --max-steps 2)
printf '{"model_type":"bert","vocab_size":77,"hidden_size":16,"num_hidden_layers":1,"num_attention_heads":2,%s}' \
  '"intermediate_size":32,"max_position_embeddings":64,"type_vocab_size":2' >config.json
expect 0 'finished' "${trains[@]}" --train-data-file 'tokens/*.tokens' --job-dir trained
grep -q '"uri": "tokens/train-00002-of-00003.tokens"' trained/job.json || fail "job.json does not name the shards"
wrong() {
  local says=$1
  expect 3 "$says" "${trains[@]}" --train-data-file 'wrong/*.tokens' --job-dir wrong-job
  [ -e wrong-job/checkpoints ] && fail "trained on shards that are wrong: $says"
  rm -rf wrong && cp -r tokens wrong
}
cp -r tokens wrong
rm wrong/train-00001-of-00003.tokens && wrong 'is shard 3 of 3, where shard 2 is expected","where":"wrong/train-00002-of-00003.tokens"'
rm wrong/train-00002-of-00003.tokens && wrong 'is shard 2 of 3, and shard 3 is missing","where":"wrong/train-00001-of-00003.tokens"'
truncate -s 5000 wrong/train-00001-of-00003.tokens && wrong 'wrong/train-00001-of-00003.tokens: byte 5000'
printf 'x' | dd of=wrong/train-00000-of-00003.tokens bs=1 seek=100000 conv=notrunc status=none &&
  wrong 'train-00000-of-00003.tokens: byte '
cp tokens/train-00000-of-00003.tokens wrong/train-00001-of-00003.tokens && wrong 'where shard 2 is expected'
sed 's/^q$/Q/' vocab.txt >other.txt
expect 3 'another tokenizer' "${trains[@]}" --train-data-file 'tokens/*.tokens' --job-dir wrong-job --vocab-file other.txt

# What cannot be done is said before anything is read.
expect 2 '--export-dir' "${prepare[@]}"
expect 2 'alone' "${prepare[@]}" --export-dir x --eval-data-file corpus/a.txt
expect 2 'jsonl' "${prepare[@]}" --export-dir x --record-format tfrecord
expect 2 'a number from 0 to 1' "${prepare[@]}" --export-dir x --min-letter-ratio 2
expect 3 'no document is left' "${prepare[@]}" --export-dir none --min-document-length 100000
grep -q '"too_short"' none/cleaning_report.json || fail "the report does not say why no document is left"
expect 4 'corpus' "${prepare[@]}" --export-dir x --train-data-file missing/corpus.txt
expect 5 'of another preparation' "${prepare[@]}" --export-dir shards
finish
