#!/usr/bin/env bash
# Trains embeddings that are evaluated on a search: in the loop, after kills, and alone.
#   retrieval.sh BERTH
. "$(dirname "$0")/lib.sh"
. "$repository/tests/jobs/workers_lib.sh"

# A made-up corpus of 240 passages about 24 subjects, with a query for each, in two splits of judgements.
python3 - <<'PYTHON'
import json, os, random
random.seed(4)
makers = "the baker the farmer the driver the painter the singer the doctor".split(" the ")
makers = [maker.removeprefix("the ") for maker in makers]
things = ["bread", "the train", "a song", "the rain"]
words = "early late often never in the town by the river with a friend for the market on the hill".split()
os.makedirs("set/qrels")
subjects = [(maker, thing) for maker in makers for thing in things]
with open("set/corpus.jsonl", "w") as out:
    for i, (maker, thing) in enumerate(subjects * 10):
        text = f"the {maker} knows {thing} " + " ".join(random.sample(words, 6))
        print(json.dumps({"_id": f"p{i}", "title": thing if i % 2 else "", "text": text, "metadata": {}}), file=out)
with open("set/queries.jsonl", "w") as out:
    for i, (maker, thing) in enumerate(subjects):
        print(json.dumps({"_id": f"q{i}", "text": f"who is the {maker} of {thing}"}), file=out)
for split, rows in (("dev", range(0, 24, 2)), ("test", range(1, 24, 2))):
    with open(f"set/qrels/{split}.tsv", "w") as out:
        print("query-id\tcorpus-id\tscore", file=out)
        for i in rows:
            for copy in range(10):
                print(f"q{i}\tp{i + 24 * copy}\t{1 + copy % 2}", file=out)
with open("pairs.tsv", "w") as out:
    print("anchor\tpositive", file=out)
    for i in range(64):
        maker, thing = subjects[i % 24]
        print(f"tell me of the {maker} and {thing}\tthe {maker} knows {thing} " + " ".join(random.sample(words, 6)), file=out)
PYTHON
tar -cf set.tar set

# metric FILE NAME: the value of a metric in a file of JSON.
metric() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["eval"][sys.argv[2]])' "$@"; }
# expect_equal JOB JOB: that both jobs have the same metrics of the evaluation.
expect_equal() {
  python3 - "$@" <<'PYTHON' || fail "the metrics of $1 and $2 differ"
import json, sys
one, two = (json.load(open(f"{job}/metrics.json"))["eval"] for job in sys.argv[1:3])
assert one == two, (one, two)
PYTHON
}

# A folder without files of sentence-transformers is cut where the model has no more positions, as --mode embed cuts it.
cp -r "$tiny" wide
python3 - <<'PYTHON'
import json, struct
config = json.load(open("wide/config.json"))
config["max_position_embeddings"] = 200
json.dump(config, open("wide/config.json", "w"))
tokens = json.load(open("wide/tokenizer_config.json"))
del tokens["model_max_length"]
json.dump(tokens, open("wide/tokenizer_config.json", "w"))
data = open("wide/model.safetensors", "rb").read()
size = struct.unpack("<Q", data[:8])[0]
header, body = json.loads(data[8:8 + size]), data[8 + size:]
out, place = b"", {}
for name, entry in header.items():
    if name == "__metadata__": continue
    part = body[entry["data_offsets"][0]:entry["data_offsets"][1]]
    if name.endswith("position_embeddings.weight"):
        part += part[:len(part) // entry["shape"][0] * (200 - entry["shape"][0])]
        entry["shape"][0] = 200
    place[name] = {**entry, "data_offsets": [len(out), len(out) + len(part)]}
    out += part
text = json.dumps(place).encode()
open("wide/model.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + out)
PYTHON
expect 0 finished --mode eval --eval-retrieval set --model wide
tr -d '\\' <err.txt | says -F '; texts of at most 200 tokens' || fail "a search cuts elsewhere than --mode embed"
expect 0 finished --mode eval --eval-retrieval set --model wide --max-seq-length 9
tr -d '\\' <err.txt | says -F '; texts of at most 9 tokens' || fail "a search heeds no flag of the length"

# Without rows to evaluate on, the search alone is evaluated. It chooses the best checkpoint, and a killed job finds the same.
training=(--task similarity --train-data-file pairs.tsv --validation-split 0 --eval-retrieval set --epochs 3 --batch-size 8
  --eval-steps 6 --save-steps 6 --max-seq-length 24)
expect 0 finished "${training[@]}" --job-dir alone
tr -d '\\' <err.txt | says -F 'retrieval: 12 queries of the split dev and 240 passages of' || fail "does not say what was read"
tr -d '\\' <err.txt | says -F 'retrieval ndcg_at_10' || fail "does not name the main metric at the end"
grep -q '"loss"' <(sed -n '/"eval"/,/}/p' alone/metrics.json) && fail "a search has no loss"
for name in ndcg_at_10 mrr_at_10 map_at_100 accuracy_at_1 precision_at_3 recall_at_10; do
  metric alone/metrics.json $name >/dev/null || fail "metrics.json lacks $name"
done
says -F '<h3>Worst queries</h3>' <alone/report.html || fail "the report lacks the worst queries"
check_report alone/report.html 24
"$berth" --mode inspect --json $(find alone -name '*tfevents*') 2>/dev/null | says -F '"ndcg_at_10"' || fail "no scalar in TensorBoard's files"
survives_kills killed "${training[@]}"
expect_equal alone killed
cmp -s alone/model/model.safetensors killed/model/model.safetensors || fail "a killed job made another model"

# The finished model finds the same alone, also from an archive and by its folder.
expect 0 finished --mode eval --eval-retrieval set --eval-retrieval-split dev --job-dir alone
[ "$(metric out.txt ndcg_at_10)" = "$(metric alone/metrics.json ndcg_at_10)" ] || fail "eval finds something else: $(cat out.txt)"
expect 0 finished --mode eval --eval-retrieval set.tar --eval-retrieval-split dev --model alone/model
[ "$(metric out.txt map_at_100)" = "$(metric alone/metrics.json map_at_100)" ] || fail "eval of an archive: $(cat out.txt)"
expect 0 finished --mode eval --eval-retrieval set --job-dir alone
tr -d '\\' <err.txt | says -F 'of the split test' || fail "eval takes another split: $(cat err.txt)"

# A search needs no task beside it: an encoder that was never trained for one compares texts, too.
plain=(--mode eval --eval-retrieval set --eval-retrieval-split dev --model "$tiny" --max-seq-length 24)
expect 0 finished "${plain[@]}" --task similarity
cp out.txt named.txt
expect 0 finished "${plain[@]}"
[ "$(metric out.txt ndcg_at_10)" = "$(metric named.txt ndcg_at_10)" ] || fail "without a task: $(cat out.txt named.txt)"

# Prompts of a training stand before queries and passages, too. Its model's folder alone has them.
prompted=("${training[@]}" --query-prompt "who : " --passage-prompt "by the river : ")
expect 0 finished "${prompted[@]}" --job-dir prompted
tr -d '\\' <err.txt | says -F '"who : " stands before each query and "by the river : " before each passage' || fail "a search has other prompts"
expect 0 finished --mode eval --eval-retrieval set --eval-retrieval-split dev --model prompted/model
[ "$(metric out.txt ndcg_at_10)" = "$(metric prompted/metrics.json ndcg_at_10)" ] || fail "the folder has other prompts: $(cat out.txt)"
expect 0 finished --mode eval --eval-retrieval set --eval-retrieval-split dev --model prompted/model --query-prompt "the train : "
[ "$(metric out.txt ndcg_at_10)" != "$(metric prompted/metrics.json ndcg_at_10)" ] || fail "eval does not heed --query-prompt"

# With rows to evaluate on, the metrics of both are there; accuracy_at_1 is then the search's.
both=("${training[@]}" --validation-split 0.2)
expect 0 finished "${both[@]}" --load-best-model-at-end --metric-for-best-model mrr_at_10 --job-dir both
grep -q '"loss"' <(sed -n '/"eval"/,/}/p' both/metrics.json) || fail "the rows have a loss"
expect 0 finished --task similarity --train-data-file pairs.tsv --max-steps 2 --batch-size 8 --job-dir in-batch
tr -d '\\' <err.txt | says 'accuracy_at_1 [0-9.]* within a batch of' || fail "does not say that it is a number within a batch"

# Sizes of a Matryoshka model have a score each, in the training and afterwards. It is the score of a search that compares only these numbers.
expect 0 finished "${training[@]}" --matryoshka-dims 32,8 --max-steps 6 --job-dir nested
expect 0 finished --mode eval --eval-retrieval set --eval-retrieval-split dev --job-dir nested
cp out.txt nested.txt
[ "$(metric out.txt ndcg_at_10_dim_8)" = "$(metric nested/metrics.json ndcg_at_10_dim_8)" ] || fail "another score of 8 numbers: $(cat out.txt)"
for size in 8 32; do
  expect 0 finished --mode eval --eval-retrieval set --eval-retrieval-split dev --job-dir nested --truncate-dim $size
  [ "$(metric out.txt ndcg_at_10)" = "$(metric nested.txt ndcg_at_10_dim_$size)" ] || fail "--truncate-dim $size: $(cat out.txt nested.txt)"
done
[ "$(metric nested.txt ndcg_at_10)" != "$(metric nested.txt ndcg_at_10_dim_8)" ] || fail "8 numbers find the same as all"

# Several workers find the same as one.
flags=(--threads 1 --peer-timeout 5 --rendezvous-timeout 60)
start 2 --mode eval --eval-retrieval set --job-dir alone
end_with '0 0' '2 workers search'
expect 0 finished --mode eval --eval-retrieval set --job-dir alone --threads 1
[ "$(metric out.txt ndcg_at_10)" = "$(metric out0.txt ndcg_at_10)" ] || fail "workers find something else: $(cat out0.txt)"

# What is refused before training.
expect 4 'no such folder or archive' "${training[@]}" --eval-retrieval nowhere --job-dir refused
expect 4 'the splits are: dev, test' "${training[@]}" --eval-retrieval-split train --job-dir refused
expect 2 'only --task similarity' --train-data-file "$sample" --eval-retrieval set --job-dir refused
expect 2 'there is no search to evaluate on without --eval-retrieval' --task similarity --train-data-file pairs.tsv \
  --eval-retrieval-split dev --job-dir refused
expect 2 'a search has no loss' "${training[@]}" --metric-for-best-model loss --job-dir refused
cp -r set broken && printf 'q0\tp9999\t1\n' >>broken/qrels/dev.tsv
expect 3 'the corpus lacks it' "${training[@]}" --eval-retrieval broken --job-dir refused
[ ! -e refused ] || fail "a refused job leaves a directory"
# The set is a part of the job.
cp -r set other && sed -i '$d' other/corpus.jsonl && sed -i '/p239/d' other/qrels/*.tsv
expect 5 'its input files had other contents' "${training[@]}" --eval-retrieval other --epochs 4 --job-dir alone
finish
