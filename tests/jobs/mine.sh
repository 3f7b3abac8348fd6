#!/usr/bin/env bash
# Finds hard negatives by --mode mine, trains on them, and checks what is refused.
#   mine.sh BERTH
. "$(dirname "$0")/lib.sh"
. "$repository/tests/jobs/workers_lib.sh"

python3 - <<'PYTHON'
import json, os, random
random.seed(9)
topics = ["the ball was kicked into the goal", "bread with butter and cheese", "the train left the station", "rain fell on the hills"]
with open("pairs.csv", "w") as pairs, open("labelled.csv", "w") as labelled:
    print("anchor,positive", file=pairs)
    print("sentence1,sentence2,label", file=labelled)
    for i in range(24):
        print(f"tell me of {topics[i % 4]} {i // 2 * 2},{topics[i % 4]} again {i}", file=pairs)
        print(f"tell me of {topics[i % 4]} {i},{topics[i % 4]} again {i},1", file=labelled)
os.makedirs("corpus")
for part in range(2):
    with open(f"corpus/part-{part}.jsonl", "w") as out:
        for i in range(60):
            print(json.dumps({"_id": f"{part}-{i}", "title": topics[i % 4] if i % 3 == 0 else "", "text": f"{topics[(i + 1) % 4]} {i + part}"}), file=out)
with open("words.tsv", "w") as out:
    print("query\tpassage\tlabel", file=out)
    for i in range(32):
        print(f"of {topics[i % 4]}\t{topics[(i // 4) % 4]} {i}\t{int(i % 4 == (i // 4) % 4)}", file=out)
PYTHON

# check FILE COUNT NEGATIVES: that the rows are pairs of the table, with that many different negatives, none of them a positive of the anchor.
check() {
  python3 - "$@" <<'PYTHON' || fail "the rows of $1"
import collections, csv, json, sys
file, count, negatives = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
rows = [json.loads(line) for line in open(file)] if file.endswith("jsonl") else list(csv.DictReader(open(file), delimiter="\t" if file.endswith("tsv") else ","))
own = collections.defaultdict(set)
for row in csv.DictReader(open("pairs.csv")):
    own[row["anchor"]].add(row["positive"])
assert len(rows) == count, len(rows)
for row in rows:
    assert list(row) == ["anchor", "positive"] + [f"negative_{i + 1}" for i in range(negatives)], row
    found = list(row.values())[2:]
    assert row["positive"] in own[row["anchor"]] and len(set(found)) == negatives and not own[row["anchor"]] & set(found), row
PYTHON
}

mine=(--mode mine --predict-data-file pairs.csv --model "$tiny")
expect 0 finished "${mine[@]}" --job-dir plain
check plain/mined.jsonl 24 3
tr -d '\\' <err.txt | says 'mined 3 negatives for each of 24 pairs among 24 passages; mean score of positives' || fail "says no summary"
expect 0 finished "${mine[@]}" --mine-corpus corpus --mine-range 2-30 --mine-negatives 2 --predictions-file mined.tsv
check mined.tsv 24 2
expect 0 finished "${mine[@]}" --mine-corpus corpus --mine-range 2-30 --mine-negatives 2 --predictions-file mined.csv
check mined.csv 24 2
grep -q 'the train left the station bread with butter' mined.csv plain/mined.jsonl || says . <mined.csv || fail "titles are not read"

# Negatives of the rows are not mixed with the new ones.
python3 -c '
import csv
rows = list(csv.DictReader(open("pairs.csv")))
print("anchor,positive,negative", *(",".join([*row.values(), "an old one"]) for row in rows), sep="\n")' >old.csv
expect 0 finished "${mine[@]}" --predict-data-file old.csv --predictions-file renewed.jsonl
check renewed.jsonl 24 3
tr -d '\\' <err.txt | says -F 'the negatives that the rows have already ("negative") are left out' || fail "does not say that negatives are left out"

# The same seed chooses the same rows, and another one others. Standard output is JSON lines.
for seed in 1 1 2; do
  expect 0 finished "${mine[@]}" --mine-corpus corpus --mine-sampling random --mine-range 40 --seed $seed
  cp out.txt "sampled$seed$([ -e sampled1 ] && echo -again).jsonl"
  touch sampled1
done
check sampled1.jsonl 24 3
cmp -s sampled1.jsonl sampled1-again.jsonl || fail "the same seed chooses other rows"
cmp -s sampled1.jsonl sampled2-again.jsonl && fail "another seed chooses the same rows"

# Both tasks train on what was mined. A reranker chooses the negatives then, with several workers, too.
expect 0 finished --task similarity --train-data-file mined.csv --max-steps 2 --batch-size 8 --max-seq-length 32 --job-dir similarity
tr -d '\\' <err.txt | says -F 'negatives "negative_1", "negative_2"' || fail "the negatives are not read"
expect 0 finished "${mine[@]}" --predictions-file mined.parquet
expect 0 finished --task reranking --train-data-file mined.parquet --max-steps 4 --batch-size 8 --max-seq-length 32 --job-dir of-parquet
expect 0 finished --task reranking --train-data-file plain/mined.jsonl --max-steps 4 --batch-size 8 --max-seq-length 32 --job-dir reranker
cmp -s of-parquet/model/model.safetensors reranker/model/model.safetensors || fail "Parquet holds other rows than JSON lines"
expect 0 finished "${mine[@]}" --mine-corpus corpus --mine-reranker reranker/model --predictions-file ranked.jsonl
check ranked.jsonl 24 3
cmp -s ranked.jsonl plain/mined.jsonl && fail "the reranker changes nothing"
flags=("${mine[@]}" --mine-corpus corpus --mine-reranker reranker/model --predictions-file workers.jsonl --threads 1 --peer-timeout 5
  --rendezvous-timeout 60 --job-dir workers)
start 2
end_with "0 0" "two workers"
cmp -s ranked.jsonl workers.jsonl || fail "two workers find other negatives"

# A job that is killed leaves no half of a file.
"$berth" "${mine[@]}" --mine-corpus corpus --predictions-file killed.jsonl >/dev/null 2>&1 &
sleep 0.05
kill -9 $! 2>/dev/null
wait $! 2>/dev/null
[ ! -e killed.jsonl ] || check killed.jsonl 24 3
expect 0 finished "${mine[@]}" --mine-corpus corpus --predictions-file killed.jsonl
check killed.jsonl 24 3

# A job that goes on computes no vector again, and writes the same rows.
python3 -c '
import json
for i in range(9000):
    print(json.dumps({"text": f"the ball was kicked {i} times and the train left {i % 7} stations behind"}))' >many.jsonl
many=("${mine[@]}" --mine-corpus many.jsonl --mine-range 5-60 --threads 1)
expect 0 finished "${many[@]}" --job-dir many
[ ! -e many/mining ] || fail "vectors stay behind the rows"
hold went-on mining/passages-2048.safetensors mined.jsonl "${many[@]}"
kill -KILL $pid
wait $pid 2>/dev/null
ls went-on/mining >there.txt
touch -d '2001-01-01' went-on/mining/*
cp -r went-on/mining kept
expect 0 finished "${many[@]}" --job-dir went-on
says -F 'are taken from an earlier run' <err.txt || fail "does not say that vectors were there: $(cat err.txt)"
cmp -s many/mined.jsonl went-on/mined.jsonl || fail "a killed job finds other negatives"
[ ! -e went-on/mining ] || fail "vectors of a killed job stay behind the rows"
cp -r kept mined-2.jsonl.mining
expect 0 finished "${many[@]}" --predictions-file mined-2.jsonl
says -F 'are taken from an earlier run' <err.txt || fail "does not look beside the file for vectors"
cmp -s many/mined.jsonl mined-2.jsonl || fail "another place has other negatives"
cp -r kept mined-3.jsonl.mining
expect 0 finished "${many[@]}" --max-seq-length 9 --predictions-file mined-3.jsonl
says -F 'are taken from an earlier run' <err.txt && fail "takes the vectors of other settings"

# Queries that are in other columns of the same file have other vectors.
python3 -c '
import csv
print("anchor,positive,other", *(f"{row[0]},{row[1]},{row[1][::-1]} {row[0]}" for row in list(csv.reader(open("pairs.csv")))[1:]), sep="\n")' >three.csv
three=(--mode mine --predict-data-file three.csv --text-pair-column positive --model "$tiny")
expect 3 "no pair has negatives" "${three[@]}" --text-column anchor --mine-max-score -0.99 --predictions-file third.jsonl
expect 0 finished "${three[@]}" --text-column other --predictions-file third.jsonl
says -F 'the vectors of 24 texts are taken from an earlier run' <err.txt || fail "does not take the passages alone: $(cat err.txt)"
expect 0 finished "${three[@]}" --text-column other --predictions-file fourth.jsonl
cmp -s third.jsonl fourth.jsonl || fail "takes the vectors of other queries"

# A corpus holds a positive with a title before it. It is the positive still, and no negative, and all passages have their titles.
python3 - <<'PYTHON'
import csv, json
with open("titled.jsonl", "w") as out:
    for i, row in enumerate(csv.DictReader(open("pairs.csv"))):
        print(json.dumps({"title": f"Title {i}", "text": row["positive"]}), file=out)
PYTHON
expect 0 finished "${mine[@]}" --mine-corpus titled.jsonl --predictions-file titled.jsonl.mined.jsonl
sed -E 's/Title [0-9]+ //g' titled.jsonl.mined.jsonl >untitled.jsonl
check untitled.jsonl 24 3
[ "$(grep -o '"Title ' titled.jsonl.mined.jsonl | wc -l)" = 96 ] || fail "a positive or a negative has no title"
tr -d '\\' <err.txt | says 'now before 24 of 24 positives, too' || fail "does not say that positives have titles"
grep -q 'lacks' err.txt && fail "says that positives are absent"
expect 0 finished "${mine[@]}" --mine-corpus corpus --predictions-file lacks.jsonl
tr -d '\\' <err.txt | says 'WARN.*corpus lacks 24 of 24 positives' || fail "does not warn that the corpus lacks the positives"

# A reranker reads pairs as long as its own folder says. The flag cuts what the encoder reads.
sed '2,$s/^/a b c d e f g h i /' pairs.csv >padded.csv
for length in 9 32; do
  expect 0 finished "${mine[@]}" --predict-data-file padded.csv --mine-reranker reranker/model --max-seq-length $length --predictions-file padded.jsonl
  tr -d '\\' <err.txt | grep -o 'for each of 24 pairs.*mean score of positives [0-9.]*' >"positives-$length.txt" || fail "says no summary with a reranker"
done
cmp -s positives-9.txt positives-32.txt || fail "the flag of the encoder cuts what the reranker reads"

# The folder's vectors are compared whole, and the log says so.
cp -r "$tiny" shortened
printf '{"truncate_dim": 8}' >shortened/config_sentence_transformers.json
printf '[{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}, {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}]' >shortened/modules.json
mkdir shortened/1_Pooling
printf '{"word_embedding_dimension": 128, "pooling_mode_mean_tokens": true}' >shortened/1_Pooling/config.json
expect 0 finished "${mine[@]}" --model shortened --predictions-file shortened.jsonl
tr -d '\\' <err.txt | says -F 'encode() compares the first 8 (truncate_dim)' || fail "does not say that truncate_dim is not heeded"

# Of a folder with splits, the rows to train on are mined. Lists of negatives, which are replaced, may have any length.
mkdir splits
cp pairs.csv splits/train.csv
sed -n 1,5p pairs.csv >splits/test.csv
expect 0 finished "${mine[@]}" --predict-data-file splits --predictions-file of-splits.jsonl
check of-splits.jsonl 24 3
python3 -c '
import csv, json
for i, row in enumerate(csv.DictReader(open("pairs.csv"))):
    print(json.dumps({"query": row["anchor"], "pos": [row["positive"]], "neg": ["old"] * (i % 3 + 1)}))' >unequal.jsonl
expect 0 finished "${mine[@]}" --predict-data-file unequal.jsonl --predictions-file equal.jsonl

# Of a retrieval set, the corpus alone holds passages. A negative that is its query brings a warning.
mkdir -p set/qrels
python3 - <<'PYTHON'
import csv, json
with open("set/corpus.jsonl", "w") as corpus, open("set/queries.jsonl", "w") as queries:
    for i, row in enumerate(csv.DictReader(open("pairs.csv"))):
        print(json.dumps({"_id": f"d{i}", "text": row["positive"]}), file=corpus)
        print(json.dumps({"_id": f"q{i}", "text": row["anchor"]}), file=queries)
PYTHON
printf 'query-id\tcorpus-id\tscore\nq0\td0\t1\n' >set/qrels/test.tsv
expect 0 finished "${mine[@]}" --mine-corpus set --predictions-file of-set.jsonl
check of-set.jsonl 24 3
tr -d '\\' <err.txt | says 'among 24 passages' || fail "queries are passages"
expect 0 finished "${mine[@]}" --mine-corpus 'set/*.jsonl' --predictions-file of-queries.jsonl
says 'WARN.*own query' <err.txt || fail "does not warn of queries among the passages"

# A reranker without files of CrossEncoder reads pairs as long as its tokenizer says, and the log says what is cut.
python3 - "$tiny" <<'PYTHON'
import csv, json, sys
config = json.load(open(f"{sys.argv[1]}/config.json"))
json.dump({**config, "max_position_embeddings": 256}, open("wide.json", "w"))
with open("long.csv", "w") as out:
    print("anchor,positive", file=out)
    for row in csv.DictReader(open("pairs.csv")):
        print(row["anchor"], "goal " * 140 + row["positive"], sep=",", file=out)
PYTHON
expect 0 finished --task reranking --train-data-file words.tsv --model-config wide.json --vocab-file "$tiny/vocab.txt" --init random --max-steps 2 \
  --batch-size 8 --job-dir wide
mkdir bare
cp wide/model/* bare
rm bare/modules.json bare/sentence_bert_config.json bare/config_sentence_transformers.json
cp -r bare keyed
cp -r bare short
python3 - <<'PYTHON'
import json
def change(file, **values):
    found = json.load(open(file))
    found.pop("sentence_transformers", None)
    json.dump({**found, **values}, open(file, "w"))
for name, length in (("bare", 512), ("keyed", 512), ("short", 64)):
    change(f"{name}/tokenizer_config.json", model_max_length=length)
    change(f"{name}/config.json", **({"sentence_transformers": {"activation_fn": "torch.nn.modules.activation.Sigmoid"}} if name == "keyed" else {}))
PYTHON
for name in bare keyed short; do
  expect 0 finished "${mine[@]}" --predict-data-file long.csv --max-seq-length 16 --mine-reranker $name --predictions-file $name.jsonl
  tr -d '\\' <err.txt >$name.log
  grep -o 'for each of 24 pairs.*mean score of positives [0-9.]*, of negatives [0-9.]*' $name.log >$name.txt || fail "says no summary with the reranker $name"
done
cmp -s bare.txt keyed.txt || fail "a reranker without files of CrossEncoder cuts pairs otherwise: $(cat bare.txt keyed.txt)"
cmp -s bare.txt short.txt && fail "where pairs are cut makes no difference here"
says -F 'longer than --max-seq-length 64 and cut' <short.log || fail "does not say that the reranker cuts pairs"
says -F 'longer than --max-seq-length 16 and cut' <short.log || fail "does not say that passages are cut"
expect 2 "the model is a cross-encoder" --mode embed --predict-data-file pairs.csv --text-column anchor --model reranker/model --job-dir refused-scores
expect 0 finished --mode embed --predict-data-file pairs.csv --text-column anchor --model bare --job-dir embedded
tr -d '\\' <err.txt | says 'WARN.*the model scores texts' || fail "does not warn of a scorer's vectors"

# What is refused.
expect 2 "the name says no format" "${mine[@]}" --predictions-file mined.xlsx
expect 2 "the range has 2 passages, and 3 negatives are needed" "${mine[@]}" --mine-range 3-5
expect 3 "the head's parameters are missing" "${mine[@]}" --mine-reranker "$tiny"
expect 2 "negatives are found by whole embeddings" "${mine[@]}" --truncate-dim 8
expect 2 "--mine-margin" --mode embed --predict-data-file pairs.csv --model "$tiny" --mine-margin 0.1 --job-dir refused
expect 3 "holds labels" --mode mine --predict-data-file labelled.csv --model "$tiny"
expect 3 "no pair has negatives" "${mine[@]}" --mine-max-score -0.99
expect 4 "" "${mine[@]}" --mine-corpus absent.jsonl

finish
