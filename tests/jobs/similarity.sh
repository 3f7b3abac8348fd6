#!/usr/bin/env bash
# Trains embeddings of texts, resumes after kills, and checks what is exported.
#   similarity.sh BERTH
. "$(dirname "$0")/lib.sh"

# Pairs of texts with labels from 0 to 5, and without, and triplets. Texts of one topic belong together.
topics=("the ball was kicked into the goal" "bread with butter and cheese" "the train left the station" "rain fell on the hills")
{
  printf 'sentence1\tsentence2\tscore\n'
  for i in $(seq 0 39); do printf '%s %d\t%s\t%s\n' "${topics[i % 4]}" "$i" "${topics[(i / 4) % 4]}" "$((i % 4 == (i / 4) % 4 ? 5 : 1)).0"; done
} >scored.tsv
cut -f1,2 scored.tsv | sed '1s/.*/anchor\tpositive/' >pairs.tsv
{
  printf 'anchor,positive,negative\n'
  for i in $(seq 0 23); do printf '%s %d,%s,%s\n' "${topics[i % 4]}" "$i" "${topics[i % 4]}" "${topics[(i + 1) % 4]}"; done
} >triplets.csv

# The cosine loss, as there are labels. The finished model is one of sentence-transformers.
cosine=(--task similarity --train-data-file scored.tsv --max-similarity 5 --epochs 2 --batch-size 8 --pooling cls
  --normalize-embeddings --max-seq-length 16)
expect 0 finished "${cosine[@]}" --job-dir cosine
grep -q '"spearman_cosine"' cosine/metrics.json && grep -q '"pearson_cosine"' cosine/metrics.json || fail "no correlations"
grep -q '"task": "similarity"' cosine/metrics.json || fail "task of the job with labels"
for file in modules.json 1_Pooling/config.json sentence_bert_config.json config_sentence_transformers.json; do
  [ -s "cosine/model/$file" ] || fail "no $file"
done
grep -q '"pooling_mode_cls_token": true' cosine/model/1_Pooling/config.json || fail "exports another pooling"
grep -q Normalize cosine/model/modules.json || fail "exports no Normalize"
grep -q '"max_seq_length": 16' cosine/model/sentence_bert_config.json || fail "exports another length"
grep -q 'SentenceTransformer(path)' cosine/model/README.md || fail "the card does not say how to load the model"

# The finished model evaluates, compares and embeds as it was trained, without being told how.
loss=$(sed -n '/"eval"/,$s/ *"loss": //p' cosine/metrics.json)
expect 0 finished --mode eval --eval-data-file scored.tsv --job-dir cosine
grep -q '"spearman_cosine"' out.txt || fail "eval prints no correlation: $(cat out.txt)"
expect 0 finished --mode eval --eval-data-file scored.tsv --model cosine/model --max-similarity 5
grep -q '"spearman_cosine"' out.txt || fail "a folder of sentence-transformers does not compare texts"
expect 0 finished --mode predict --predict-data-file pairs.tsv --job-dir cosine
[ "$(wc -l <cosine/predictions.tsv)" = 41 ] || fail "predictions are not a header and 40 rows"
head -n 1 cosine/predictions.tsv | says $'^id\tscore' || fail "header of predictions"
expect 0 finished --mode embed --predict-data-file scored.tsv --text-column sentence1 --job-dir cosine
grep -qF 'pooling cls, scaled to length 1, texts of at most 16 tokens' err.txt || fail "embeds otherwise: $(cat err.txt)"

# Without labels there are in-batch negatives, also where the flag asks for them.
expect 0 finished --task similarity --train-data-file pairs.tsv --max-steps 4 --batch-size 8 --job-dir pairs
grep -q '"task": "in_batch_negatives"' pairs/metrics.json && grep -q '"accuracy_at_1"' pairs/metrics.json || fail "task of pairs"
expect 0 finished --task similarity --train-data-file scored.tsv --similarity-loss in_batch_negatives --max-steps 2 --job-dir asked
grep -q '"accuracy_at_1"' asked/metrics.json || fail "--similarity-loss is not heeded"
tr -d '\\' <err.txt | says -F 'column "score" is not read, and the loss takes the two texts of each row' || fail "does not warn of scores"
triplets=(--task similarity --train-data-file triplets.csv --epochs 4 --batch-size 8 --gradient-accumulation-steps 2
  --save-steps 2)
expect 0 finished "${triplets[@]}" --job-dir triplets
tr -d '\\' <err.txt | says -F 'negatives "negative"' || fail "does not say that there are negatives"
expect 0 finished --mode eval --eval-data-file triplets.csv --job-dir triplets
grep -q '"accuracy_at_1"' out.txt || fail "eval of triplets: $(cat out.txt)"

# Rows to evaluate on have labels of their own, whatever the training learns: they are scored as --mode eval scores the finished model.
own=(--task similarity --train-data-file triplets.csv --eval-data-file scored.tsv --max-similarity 5 --max-steps 4 --eval-steps 2 --batch-size 8
  --max-seq-length 16 --load-best-model-at-end)
expect 0 finished "${own[@]}" --job-dir own
grep -q '"task": "in_batch_negatives"' own/metrics.json || fail "labels to evaluate on are trained on"
same_evaluation() {
  expect 0 finished --mode eval --eval-data-file scored.tsv --max-similarity 5 --job-dir "$1"
  python3 - "$1/metrics.json" out.txt <<'PYTHON' || fail "labels to evaluate on are scored otherwise than by --mode eval: $(cat out.txt)"
import json, sys
trained, alone = (json.load(open(name))["eval"] for name in sys.argv[1:])
assert trained.keys() >= {"loss", "spearman_cosine", "pearson_cosine"} and "accuracy_at_1" not in trained, trained
assert all(abs(trained[name] - alone[name]) < 1e-4 for name in ("loss", "spearman_cosine", "pearson_cosine")), (trained, alone)
PYTHON
}
same_evaluation own
expect 0 finished "${own[@]}" --similarity-loss triplet --embedding-mini-batch-size 3 --job-dir own-triplet
same_evaluation own-triplet
expect 0 finished "${own[@]}" --similarity-loss in_batch_negatives --matryoshka-dims 16,8 --job-dir own-sizes
grep -q '"spearman_cosine_dim_8"' own-sizes/metrics.json || fail "labels to evaluate on do not score each size"
expect 0 finished --task similarity --train-data-file scored.tsv --max-similarity 5 --train-source pairs.tsv --eval-data-file scored.tsv --max-steps 2 \
  --batch-size 8 --job-dir own-sources
same_evaluation own-sources
sed $'1s/.*/query\tpassage\trelevance/' scored.tsv >renamed.tsv
expect 0 finished --task similarity --train-data-file scored.tsv --eval-data-file renamed.tsv --max-similarity 5 --max-steps 2 --batch-size 8 --job-dir own-names
tr -d '\\' <err.txt | says -F 'column "query" is read as the text; the model was trained on "sentence1"' || fail "does not say that other columns are read"
expect 2 'max-similarity: the flag changes nothing' --task similarity --train-data-file pairs.tsv --max-similarity 5 --job-dir refused-own

# Rows to evaluate on may have more or fewer texts than rows to train on, which changes no update.
expect 0 finished --task similarity --train-data-file pairs.tsv --max-steps 2 --batch-size 8 --mode train --job-dir alone
expect 0 finished --task similarity --train-data-file pairs.tsv --eval-data-file triplets.csv --max-steps 2 --batch-size 8 --job-dir more
cmp -s alone/model/model.safetensors more/model/model.safetensors || fail "negatives to evaluate on change the training"
expect 0 finished --task similarity --train-data-file triplets.csv --eval-data-file pairs.tsv --max-steps 2 --batch-size 8 --job-dir fewer

# A loss of texts alone refuses labels that say that texts do not belong together.
sed 's/5[.]0$/1/; s/1[.]0$/0/' scored.tsv >zeros.tsv
expect 3 'has the values "0" and "1"' --task similarity --train-data-file zeros.tsv --similarity-loss in_batch_negatives --job-dir refused-zeros
expect 3 'has the values "0" and "1"' --task similarity --train-data-file pairs.tsv --train-source zeros.tsv,loss=symmetric --job-dir refused-zeros

# Where the best evaluation counts, all of them compare batches of one size.
best=(--task similarity --train-data-file pairs.tsv --eval-data-file pairs.tsv --batch-size 8 --load-best-model-at-end --job-dir best)
expect 0 finished "${best[@]}" --max-steps 2
expect 5 '--eval-batch-size: was 0 and is now 3' "${best[@]}" --max-steps 4 --eval-batch-size 3
expect 0 finished "${best[@]}" --max-steps 4

# A number beside negatives may be a teacher's score or a label.
sed '1s/$/,score/; 2,$s/$/,0.5/' triplets.csv >numbered.csv
numbered=(--task similarity --train-data-file numbered.csv --max-steps 1 --batch-size 8 --max-seq-length 16)
expect 3 "may hold a teacher's scores or the labels of pairs" "${numbered[@]}" --job-dir refused-both
expect 0 finished "${numbered[@]}" --similarity-loss margin_mse --job-dir numbered-scores
expect 0 finished "${numbered[@]}" --similarity-loss in_batch_negatives --job-dir numbered-texts
grep -q '"task": "in_batch_negatives"' numbered-texts/metrics.json || fail "the texts alone are pairs with labels"
expect 0 finished "${numbered[@]}" --label-column score --job-dir numbered-pairs
grep -q '"task": "similarity"' numbered-pairs/metrics.json || fail "--label-column does not say that pairs have labels"

# A micro-batch of one row has nothing to compare, unless the row has negatives.
for flags in "pairs.tsv --batch-size 8 --gradient-accumulation-steps 8" "pairs.tsv --batch-size 1 --similarity-loss symmetric" \
  "scored.tsv --batch-size 1 --max-similarity 5 --similarity-loss cosent" "scored.tsv --batch-size 1 --max-similarity 5 --similarity-loss angle"; do
  # shellcheck disable=SC2086
  expect 2 "--embedding-mini-batch-size" --task similarity --max-steps 1 --job-dir refused-one --train-data-file $flags
done
expect 2 "--embedding-mini-batch-size" --task similarity --max-steps 1 --batch-size 1 --train-data-file triplets.csv --train-source pairs.tsv \
  --job-dir refused-one
for flags in triplets.csv "scored.tsv --max-similarity 5"; do
  # shellcheck disable=SC2086
  expect 0 finished --task similarity --max-steps 1 --batch-size 1 --max-seq-length 16 --job-dir "one-${flags%% *}" --train-data-file $flags
done

# A job that is killed makes the same model. So does one whose model is made of its checkpoint.
survives_kills killed "${triplets[@]}"
cmp -s triplets/model/model.safetensors killed/model/model.safetensors || fail "a killed job made another model"
expect 0 finished --mode export_only --job-dir cosine --export-dir exported
for file in modules.json 1_Pooling/config.json sentence_bert_config.json; do
  cmp -s "cosine/model/$file" "exported/$file" || fail "export_only writes another $file"
done

# Every loss trains, and the same job evaluates as it trained. Both numbers of labels' losses take 0 and 1.
{
  printf 'sentence1\tsentence2\tlabel\n'
  for i in $(seq 0 23); do printf '%s %d\t%s\t%d.0\n' "${topics[i % 4]}" "$i" "${topics[(i / 4) % 4]}" "$((i % 4 == (i / 4) % 4))"; done
} >marks.tsv
for loss in "symmetric pairs.tsv" "triplet triplets.csv" "cosent scored.tsv" "angle scored.tsv" "contrastive marks.tsv" "online_contrastive marks.tsv"; do
  read -r name file <<<"$loss"
  labels=(--max-similarity 5)
  [ "$file" = scored.tsv ] || labels=()
  expect 0 finished --task similarity --train-data-file "$file" --similarity-loss "$name" "${labels[@]}" --matryoshka-dims 16,8 --max-steps 4 \
    --batch-size 8 --validation-split 0.3 --job-dir "loss-$name"
  trained=$(sed -n '/"eval"/,$s/ *"loss": //p' "loss-$name/metrics.json")
  [ -n "$trained" ] || fail "$name has no loss of an evaluation"
  [ "$file" != scored.tsv ] && [ "$file" != marks.tsv ] || grep -q '"spearman_cosine_dim_8"' "loss-$name/metrics.json" || fail "$name has no metric by size"
done

# The metric of a size is the metric of a model that compares embeddings of this size.
expect 0 finished --mode eval --eval-data-file scored.tsv --max-similarity 5 --job-dir loss-cosent
number() { tr ',{' '\n\n' <out.txt | tr -d '" ' | sed -n "s/^$1://p" | sed -n 1p; }
by_size=$(number spearman_cosine_dim_8)
[ -n "$by_size" ] || fail "eval has no metric by size: $(cat out.txt)"
expect 0 finished --mode eval --eval-data-file scored.tsv --max-similarity 5 --job-dir loss-cosent --truncate-dim 8
[ "$(number spearman_cosine)" = "$by_size" ] || fail "another metric of size 8: $(number spearman_cosine), $by_size"
grep -q dim_16 out.txt && fail "--truncate-dim shows other sizes"
expect 0 finished --mode predict --predict-data-file pairs.tsv --job-dir loss-cosent --predictions-file sizes.tsv
# A loss that compares the rows of a batch is evaluated in the batches of the training. Of the two texts that a job compares, --mode embed
# takes the first.
named=(--text-column sentence1 --text-pair-column sentence2 --precision fp32)
expect 0 finished --task similarity --train-data-file scored.tsv --eval-data-file scored.tsv --max-similarity 5 --similarity-loss cosent \
  "${named[@]}" --eval-batch-size 3 --max-steps 2 --batch-size 8 --job-dir batches
expect 0 finished --mode eval --eval-data-file scored.tsv --job-dir batches --precision fp32
python3 - <<'PYTHON' || fail "eval has other batches than the training"
import json
one, two = (json.load(open(name))["eval"]["loss"] for name in ("batches/metrics.json", "out.txt"))
assert abs(one - two) < 1e-5 * one, (one, two)
PYTHON
expect 0 finished --mode embed --predict-data-file scored.tsv --job-dir batches --precision fp32
expect 0 finished --mode embed --predict-data-file scored.tsv --model batches/model --text-column sentence1 --precision fp32 --predictions-file first.npy
cmp -s batches/embeddings.npy first.npy || fail "embed joins the two texts that the job compares"

# Rows as FlagEmbedding has them: lists of texts, of which the first two negatives are read. A kill changes nothing.
for i in $(seq 0 23); do
  printf '{"query": "%s %d", "pos": ["%s", "%s again"], "neg": ["%s", "%s", "one more"], "neg_scores": [0.1, 0.2, 0.3], "prompt": "Find: "}\n' "${topics[i % 4]}" "$i" \
    "${topics[i % 4]}" "${topics[i % 4]}" "${topics[(i + 1) % 4]}" "${topics[(i + 2) % 4]}"
done >lists.jsonl
lists=(--task similarity --train-data-file lists.jsonl --max-negatives 2 --matryoshka-dims 32,8 --matryoshka-weights 1,0.5 --similarity-scale 10
  --epochs 2 --batch-size 8 --save-steps 2)
expect 0 finished "${lists[@]}" --job-dir lists
says -F 'neg_scores' <err.txt || fail "does not say which column is not read"
tr -d '\\' <err.txt | says -F 'column "prompt" is not read' || fail "says nothing of FlagEmbedding's prompts"
says -F 'make 24 rows more' <err.txt || fail "does not count the rows of lists"
survives_kills killed-lists "${lists[@]}"
cmp -s lists/model/model.safetensors killed-lists/model/model.safetensors || fail "a killed job of lists made another model"
{ head -n 1 lists.jsonl; sed 's/, "one more"//' lists.jsonl; } >unequal.jsonl
expect 3 'the row has 2 negatives, and the first row has 3' --task similarity --train-data-file unequal.jsonl --job-dir unequal

# Short embeddings.
expect 0 finished --mode embed --predict-data-file scored.tsv --text-column sentence1 --job-dir lists --truncate-dim 8
grep -qF 'embeddings: 8 numbers (--truncate-dim)' err.txt || fail "embeds otherwise: $(cat err.txt)"
expect 0 finished --mode predict --predict-data-file pairs.tsv --job-dir lists --predictions-file whole.tsv
expect 0 finished --mode predict --predict-data-file pairs.tsv --job-dir lists --truncate-dim 8 --predictions-file short.tsv
cmp -s whole.tsv short.tsv && fail "--truncate-dim changes no prediction"
expect 2 'truncate-dim: 4000 is more than' --mode predict --predict-data-file pairs.tsv --job-dir lists --truncate-dim 4000

# Equal texts are kept apart. A kill changes nothing.
apart=(--task similarity --train-data-file pairs.tsv --batch-sampler no_duplicates --epochs 2 --batch-size 8 --save-steps 3 --validation-split 0.2)
expect 0 finished "${apart[@]}" --job-dir apart
tr -d '\\' <err.txt | says -E 'no_duplicates: 3[0-9] of 3[0-9] rows have a text that another row has, too; the first epoch has [0-9]+ updates' ||
  fail "does not count the rows with equal texts"
survives_kills killed-apart "${apart[@]}"
cmp -s apart/model/model.safetensors killed-apart/model/model.safetensors || fail "a killed job with distinct texts made another model"
expect 2 'batch-sampler' --task similarity --train-data-file scored.tsv --max-similarity 5 --batch-sampler no_duplicates --job-dir refused-14

# Gradient caching: a batch that is embedded in parts learns the same, in less memory. A kill changes nothing.
large=(--task similarity --train-data-file triplets.csv --epochs 3 --batch-size 20 --save-steps 2 --validation-split 0.1 --precision fp32)
expect 0 finished "${large[@]}" --job-dir large
activations() { tr -d '\\' <err.txt | grep -o 'activations [0-9.]* [KMG]iB' | sed -n 1p; }
whole=$(activations)
expect 0 finished "${large[@]}" --embedding-mini-batch-size 3 --job-dir cached
[ "$(activations)" != "$whole" ] || fail "caching takes the memory of a whole batch"
python3 - <<'PYTHON' || fail "a batch in parts learns something else"
import json
whole, cached = (json.load(open(f"{job}/metrics.json")) for job in ("large", "cached"))
for part in ("train", "eval"):
    assert abs(whole[part]["loss"] - cached[part]["loss"]) < 1e-4 * whole[part]["loss"], (part, whole, cached)
PYTHON
survives_kills killed-cached "${large[@]}" --embedding-mini-batch-size 3
cmp -s cached/model/model.safetensors killed-cached/model/model.safetensors || fail "a killed job with cached gradients made another model"
expect 0 finished --mode eval --eval-data-file triplets.csv --job-dir cached

# A batch that does not fit the memory is embedded in parts. A resumed job keeps their size, also where all fit now.
says_parts() { tr -d '\\' <err.txt | says -F -- "--embedding-mini-batch-size $1: the rows of a batch are embedded in parts, because $2"; }
wide=(--task similarity --train-data-file wide.csv --batch-size 256 --max-seq-length 64 --max-steps 6 --save-steps 2 --precision fp32 --validation-split 0)
{
  printf 'anchor,positive\n'
  for i in $(seq 0 299); do printf '%s %d,%s %d\n' "${topics[i % 4]}" "$i" "${topics[i % 4]}" "$((i * 7))"; done
} >wide.csv
expect 0 finished "${wide[@]}" --job-dir wide
! grep -q 'embedded in parts' err.txt || fail "a batch that fits is embedded in parts"
limit=$(python3 - <<'PYTHON'
import re
numbers = re.search(r"memory: at most ([0-9.]+) ([KMG])iB", open("err.txt").read())
print(int(float(numbers[1]) * 1024 ** " KMG".index(numbers[2]) * 0.7))
PYTHON
)
expect 0 finished "${wide[@]}" --memory-limit "$limit" --job-dir parts
says_parts 32 'all at once do not fit the memory' || fail "does not say that a batch is embedded in parts"
grep -q '"embedding_mini_batch_size": 32' parts/job.json || fail "job.json does not say how large the parts are"
python3 - <<'PYTHON' || fail "a batch in parts learns something else"
import json
whole, parts = (json.load(open(f"{job}/metrics.json"))["train"]["loss"] for job in ("wide", "parts"))
assert abs(whole - parts) < 1e-4 * whole, (whole, parts)
PYTHON
expect 0 finished "${wide[@]}" --memory-limit "$limit" --max-steps 3 --job-dir longer
expect 0 finished "${wide[@]}" --job-dir longer
says_parts 32 'the job began so' || fail "a resumed job embeds in other parts"
expect 14 'embedding-mini-batch-size auto' "${wide[@]}" --memory-limit "$limit" --embedding-mini-batch-size 0 --job-dir refused-20

# Prompts. A job with them trains as one whose rows begin with them, and its model keeps them.
{
  printf 'anchor\tpositive\n'
  tail -n +2 pairs.tsv | awk -F '\t' '{ print "ask : " $1 "\tread : " $2 }'
} >prompted.tsv
prompted=(--task similarity --max-steps 4 --batch-size 8 --seed 5)
expect 0 finished "${prompted[@]}" --train-data-file prompted.tsv --eval-data-file prompted.tsv --job-dir written
expect 0 finished "${prompted[@]}" --train-data-file pairs.tsv --eval-data-file pairs.tsv --query-prompt "ask : " --passage-prompt "read : " --job-dir prompts
says -F 'stands before the first text of each row, and' <err.txt || fail "does not say which prompts there are"
cmp -s written/model/model.safetensors prompts/model/model.safetensors || fail "a prompt is something else than the beginning of a text"
python3 - <<'PYTHON' || fail "the evaluation or the folder has other prompts"
import json
written, prompts = (json.load(open(f"{job}/metrics.json"))["eval"] for job in ("written", "prompts"))
assert written == prompts, (written, prompts)
config = json.load(open("prompts/model/config_sentence_transformers.json"))
assert config["prompts"] == {"query": "ask : ", "document": "read : "}, config
assert config["default_prompt_name"] is None, config
PYTHON
expect 0 finished --mode export_only --job-dir prompts --export-dir exported-prompts
cmp -s prompts/model/config_sentence_transformers.json exported-prompts/config_sentence_transformers.json || fail "export_only loses prompts"
# The job's model compares texts with their prompts, and its folder alone without; the log says both.
expect 0 finished --mode predict --predict-data-file pairs.tsv --job-dir prompts --predictions-file with.tsv
expect 0 finished --mode predict --predict-data-file prompted.tsv --model prompts/model --predictions-file begun.tsv
cmp -s with.tsv begun.tsv || fail "predict has other prompts than the training"
tr -d '\\' <err.txt | says -F 'none of the model'"'"'s prompts ("document", "query") stands before' || fail "does not say that there is no prompt"
# A folder keeps its prompts through a training without flags. Its default prompt stands before texts to embed and to compare.
cp -r prompts/model defaults
python3 - <<'PYTHON'
import json
config = json.load(open("defaults/config_sentence_transformers.json"))
json.dump({**config, "default_prompt_name": "query"}, open("defaults/config_sentence_transformers.json", "w"))
PYTHON
expect 0 finished "${prompted[@]}" --train-data-file pairs.tsv --model defaults --job-dir kept
says -F 'stands before the texts to train on' <err.txt || fail "does not warn of prompts that are not used"
grep -q '"default_prompt_name": "query"' kept/model/config_sentence_transformers.json &&
  grep -q '"document": "read : "' kept/model/config_sentence_transformers.json || fail "a training loses prompts"
cut -f1 pairs.tsv | sed '1s/.*/text/' >texts.tsv
sed '2,$s/^/ask : /' texts.tsv >asked.tsv
expect 0 finished --mode embed --predict-data-file texts.tsv --model defaults --predictions-file default.npy
says -F 'stands before each text' <err.txt || fail "does not say that the default prompt is used"
expect 0 finished --mode embed --predict-data-file asked.tsv --model prompts/model --predictions-file asked.npy
says -F -- '--prompt-name chooses one' <err.txt || fail "does not say that no prompt is used"
expect 0 finished --mode embed --predict-data-file texts.tsv --model prompts/model --prompt-name query --predictions-file named.npy
expect 0 finished --mode embed --predict-data-file texts.tsv --model prompts/model --prompt "ask : " --predictions-file text.npy
for file in default named text; do cmp -s asked.npy "$file.npy" || fail "embeds with another prompt: $file"; done
expect 2 'its prompts are "document", "query"' --mode embed --predict-data-file texts.tsv --predictions-file refused.npy --model prompts/model --prompt-name other
expect 2 'the prompt is given twice' --mode embed --predict-data-file texts.tsv --predictions-file refused.npy --model prompts/model --prompt-name query --prompt x
expect 2 'the flag is only for --mode' --mode embed --predict-data-file texts.tsv --model prompts/model --query-prompt x --predictions-file refused.npy
expect 2 'the flag is only for --mode' --task similarity --train-data-file pairs.tsv --prompt x --job-dir refused-17
# A folder of embeddings holds the vectors of one prompt.
expect 0 finished --mode embed --predict-data-file texts.tsv --model prompts/model --embeddings-file-rows 20 --job-dir parts
expect 5 'other settings' --mode embed --predict-data-file texts.tsv --model prompts/model --embeddings-file-rows 20 --prompt-name query --job-dir parts
# What berth cannot leave out of the pooling is refused.
sed -i 's/"pooling_mode_cls_token"/"include_prompt": false, &/' defaults/1_Pooling/config.json
expect 2 'out of the pooling' --mode embed --predict-data-file texts.tsv --predictions-file refused.npy --model defaults
expect 2 'out of the pooling' "${prompted[@]}" --train-data-file pairs.tsv --query-prompt x --model defaults --job-dir refused-13

# False negatives.
expect 0 finished --task similarity --train-data-file triplets.csv --max-steps 2 --batch-size 8 --validation-split 0.3 --guide self --guide-margin 0.05 \
  --job-dir guided
expect 0 finished --mode eval --eval-data-file triplets.csv --job-dir guided
tr -d '\\' <err.txt | says -F -- '--guide self' || fail "eval does not take over the guide: $(cat err.txt)"
# Another model as the guide: its embeddings of the texts are stored, a kill changes nothing, and an evaluation goes without it.
guide=(--task similarity --train-data-file triplets.csv --guide cosine/model --guide-margin 0.05 --epochs 4 --batch-size 8 --save-steps 2
  --passage-prompt "read : ")
expect 0 finished "${guide[@]}" --job-dir other-guide
grep -q '"loss"' other-guide/metrics.json || fail "no loss of an evaluation with a guide"
[ ! -e other-guide/teacher ] || fail "the guide's embeddings stay"
survives_kills killed-guide "${guide[@]}"
cmp -s other-guide/model/model.safetensors killed-guide/model/model.safetensors || fail "a killed job with a guide made another model"
expect 0 finished "${guide[@]}" --embedding-mini-batch-size 3 --job-dir cached-guide
expect 0 finished --mode eval --eval-data-file triplets.csv --job-dir other-guide
says -F 'the loss leaves out no false negatives' <err.txt || fail "eval does not say that there is no guide: $(cat err.txt)"
cp -r other-guide continued-guide
cp -r cosine/model changed-guide
expect 5 'guide' "${guide[@]}" --guide changed-guide --epochs 5 --job-dir continued-guide
expect 2 'there is no guide without' --task similarity --train-data-file triplets.csv --guide-contrasts none --job-dir refused-18
expect 2 'guide: the flag changes nothing' --task similarity --train-data-file triplets.csv --guide self --similarity-loss triplet --job-dir refused-15
expect 2 'there is one margin already' --task similarity --train-data-file triplets.csv --guide self --guide-margin 0 --guide-relative-margin 0 \
  --job-dir refused-16

# A teacher: its embeddings, with labels and without; its scores, from the rows or from its embeddings. A kill changes nothing.
teacher=(--task similarity --train-data-file scored.tsv --max-similarity 5 --teacher cosine/model --epochs 4 --batch-size 8 --save-steps 2)
expect 0 finished "${teacher[@]}" --job-dir taught
grep -q '"spearman_cosine"' taught/metrics.json || fail "labels do not score a model that has a teacher"
survives_kills killed-taught "${teacher[@]}"
cmp -s taught/model/model.safetensors killed-taught/model/model.safetensors || fail "a killed job with a teacher made another model"
expect 0 finished --task similarity --train-data-file pairs.tsv --teacher cosine/model --similarity-loss embedding_cosine --embedding-mini-batch-size 3 \
  --epochs 2 --job-dir taught-pairs
expect 0 finished --mode eval --eval-data-file pairs.tsv --job-dir taught-pairs
says -F 'the loss is the usual one of such rows' <err.txt || fail "eval does not say that there is no teacher: $(cat err.txt)"
for i in $(seq 0 23); do
  printf '{"query": "%s %d", "pos": ["%s"], "neg": ["%s", "%s"], "pos_scores": [0.9], "neg_scores": [0.1, 0.%d]}\n' "${topics[i % 4]}" "$i" \
    "${topics[i % 4]}" "${topics[(i + 1) % 4]}" "${topics[(i + 2) % 4]}" "$((i % 5))"
done >passages.jsonl
for loss in margin_mse distill_kl; do
  passages=(--task similarity --similarity-loss "$loss" --train-data-file passages.jsonl --batch-size 8 --normalize-embeddings --epochs 2 --save-steps 2)
  expect 0 finished "${passages[@]}" --job-dir "$loss"
  says -F "a teacher's scores: column" <err.txt || fail "does not say where scores are: $(cat err.txt)"
  survives_kills "killed-$loss" "${passages[@]}"
  cmp -s "$loss/model/model.safetensors" "killed-$loss/model/model.safetensors" || fail "a killed job of $loss made another model"
  expect 0 finished --mode eval --eval-data-file passages.jsonl --job-dir "$loss"
  says -F 'the usual one' <err.txt && fail "eval does not read the scores"
  expect 0 finished --mode eval --eval-data-file triplets.csv --job-dir "$loss"
  says -F 'the loss is the usual one of such rows' <err.txt || fail "eval without scores does not say so"
  expect 0 finished "${passages[@]}" --train-data-file lists.jsonl --teacher cosine/model --matryoshka-dims 16,8 --job-dir "taught-$loss"
done

# Several sources, each with its own loss. A kill changes nothing, and neither does gradient caching.
mixed=(--task similarity --train-data-file pairs.tsv --train-source scored.tsv,loss=cosent,max-similarity=5 --train-source triplets.csv,weight=2
  --train-source passages.jsonl,loss=margin_mse --epochs 2 --batch-size 8 --save-steps 3 --matryoshka-dims 32,8)
expect 0 finished "${mixed[@]}" --eval-data-file triplets.csv --job-dir mixed
for line in 'source 1: pairs.tsv, 40 rows' 'loss in_batch_negatives' 'source 2: scored.tsv, 40 rows' 'loss cosent' 'source 3: triplets.csv, 24 rows' 'weight 2' \
  'loss margin_mse'; do
  says -F "$line" <err.txt || fail "the log lacks \"$line\": $(cat err.txt)"
done
grep -q '"accuracy_at_1"' mixed/metrics.json || fail "several sources are not evaluated"
grep -q '"steps": 38' mixed/metrics.json || fail "an epoch has another number of updates: $(cat mixed/metrics.json)"
survives_kills killed-mixed "${mixed[@]}" --eval-data-file triplets.csv
cmp -s mixed/model/model.safetensors killed-mixed/model/model.safetensors || fail "a killed job of several sources made another model"
expect 0 finished "${mixed[@]}" --source-sampling round_robin --embedding-mini-batch-size 3 --job-dir turns
grep -q '"steps": 24' turns/metrics.json || fail "round_robin takes another number of updates: $(cat turns/metrics.json)"
expect 0 finished --mode eval --eval-data-file scored.tsv --max-similarity 5 --similarity-loss cosine --job-dir mixed
mkdir splits
cp triplets.csv splits/train.csv
head -n 3 triplets.csv >splits/validation.csv
expect 0 finished --task similarity --train-data-file pairs.tsv --train-source splits --max-steps 1 --batch-size 8 --mode train --job-dir of_splits
says -F 'source 2: splits, 24 rows' <err.txt || fail "a source is not the split train of its folder: $(cat err.txt)"
expect 5 'train-source' "${mixed[@]}" --train-source marks.tsv --epochs 3 --eval-data-file triplets.csv --job-dir mixed
sources=(--task similarity --train-data-file pairs.tsv --job-dir refused-25)
expect 2 'there is no file' "${sources[@]}" --train-source ,weight=2
expect 2 'weight stands there twice' "${sources[@]}" --train-source scored.tsv,weight=2,weight=3
expect 2 'weight: ' "${sources[@]}" --train-source scored.tsv,weight=0
expect 2 'loss: ' "${sources[@]}" --train-source scored.tsv,loss=hinge
expect 2 'there is no second source' "${sources[@]}" --source-sampling round_robin
expect 2 'have a number of rows' "${sources[@]}" --train-source scored.tsv --token-budget 100
expect 2 'only --task similarity' --train-data-file "$sample" --train-source scored.tsv --job-dir refused-26
expect 3 'say by max-similarity' "${sources[@]}" --train-source scored.tsv
expect 3 'does not fit rows of' "${sources[@]}" --train-source pairs.tsv,loss=triplet
expect 4 'none.tsv' "${sources[@]}" --train-source none.tsv

# A guide and a teacher are of the first source alone, and each update holds a text once. A kill changes nothing.
beside=(--train-source scored.tsv,loss=cosent,max-similarity=5 --train-source passages.jsonl,loss=distill_kl --epochs 2 --batch-size 8 --save-steps 3)
sources_apart=(--task similarity --train-data-file triplets.csv --batch-sampler no_duplicates "${beside[@]}")
expect 0 finished "${sources_apart[@]}" --job-dir sources-apart
says 'no_duplicates: [1-9][0-9]* of 88 rows have a text that another row has' <err.txt || fail "does not count equal texts: $(cat err.txt)"
expect 0 finished "${sources_apart[@]}" --guide cosine/model --guide-margin -0.01 --job-dir guided-sources
cmp -s sources-apart/model/model.safetensors guided-sources/model/model.safetensors && fail "several sources heed no guide"
survives_kills killed-guided-sources "${sources_apart[@]}" --guide cosine/model --guide-margin -0.01
cmp -s guided-sources/model/model.safetensors killed-guided-sources/model/model.safetensors || fail "a killed job of sources with a guide made another model"
expect 0 finished "${sources_apart[@]}" --guide cosine/model --guide-margin -0.01 --embedding-mini-batch-size 3 --eval-data-file triplets.csv --job-dir cached-sources
expect 0 finished --task similarity --train-data-file scored.tsv --max-similarity 5 --teacher cosine/model "${beside[@]}" --job-dir taught-sources
says -F 'loss embedding_mse' <err.txt || fail "the first source does not learn from the teacher: $(cat err.txt)"

# A Dense module of the model's folder is trained along and exported. A kill changes nothing, and neither does gradient caching.
cp -r cosine/model with-dense
python3 - <<'PYTHON'
import json, os, random, struct
random.seed(1)
width = json.load(open("with-dense/config.json"))["hidden_size"]
os.mkdir("with-dense/2_Dense")
def pack(numbers):
    return struct.pack("<%df" % len(numbers), *numbers)
weight, bias = pack([random.gauss(0, width ** -0.5) for _ in range(12 * width)]), pack([0.1 * i for i in range(12)])
header = json.dumps({"linear.bias": {"dtype": "F32", "shape": [12], "data_offsets": [0, len(bias)]},
                     "linear.weight": {"dtype": "F32", "shape": [12, width], "data_offsets": [len(bias), len(bias) + len(weight)]}}).encode()
header += b" " * (-len(header) % 8)
open("with-dense/2_Dense/model.safetensors", "wb").write(struct.pack("<Q", len(header)) + header + bias + weight)
json.dump({"in_features": width, "out_features": 12, "bias": True, "activation_function": "torch.nn.modules.activation.Tanh"},
          open("with-dense/2_Dense/config.json", "w"))
modules = json.load(open("with-dense/modules.json"))
modules.insert(2, {"idx": 2, "name": "2", "path": "2_Dense", "type": "sentence_transformers.models.Dense"})
json.dump(modules, open("with-dense/modules.json", "w"))
PYTHON
dense=(--task similarity --train-data-file pairs.tsv --model with-dense --epochs 2 --batch-size 8 --save-steps 2 --matryoshka-dims 12,4 --precision fp32)
expect 0 finished "${dense[@]}" --job-dir dense
grep -q 3_Normalize dense/model/modules.json || fail "the modules of a folder with Dense"
for file in config.json model.safetensors; do [ -s "dense/model/2_Dense/$file" ] || fail "no $file of the Dense module"; done
cmp -s with-dense/2_Dense/model.safetensors dense/model/2_Dense/model.safetensors && fail "the Dense module is not trained"
survives_kills killed-dense "${dense[@]}"
for file in model.safetensors 2_Dense/model.safetensors; do
  cmp -s "dense/model/$file" "killed-dense/model/$file" || fail "a killed job with a Dense module made another $file"
done
expect 0 finished --mode export_only --job-dir dense --export-dir exported-dense
[ -s exported-dense/2_Dense/model.safetensors ] && cmp -s dense/model/2_Dense/config.json exported-dense/2_Dense/config.json ||
  fail "export_only writes another Dense module"
expect 0 finished --mode embed --predict-data-file texts.tsv --model dense/model --predictions-file dense.npy
says -F 'embeddings: 12 numbers' <err.txt || fail "embeds without the Dense module"
expect 2 'numbers of the model' "${dense[@]}" --matryoshka-dims 16 --job-dir refused-18
cp -r with-dense with-another-dense
sed -i 's/"bias": true/"bias": false/' with-another-dense/2_Dense/config.json
expect 3 'holds 2 tensors, and the module of config.json has 1' --mode embed --predict-data-file texts.tsv --model with-another-dense \
  --predictions-file another-dense.npy
expect 2 'Dense module' "${dense[@]}" --export-format tensorflow --job-dir refused-19
expect 0 finished "${dense[@]}" --embedding-mini-batch-size 3 --job-dir dense-cached
python3 - <<'PYTHON' || fail "a Dense module learns something else in parts"
import json
whole, cached = (json.load(open(f"{job}/metrics.json"))["train"]["loss"] for job in ("dense", "dense-cached"))
assert abs(whole - cached) < 1e-4 * whole, (whole, cached)
PYTHON

# What is refused.
expect 2 'similarity-margin: the flag changes nothing' --task similarity --train-data-file pairs.tsv --similarity-margin 1 --job-dir refused-6
expect 2 'similarity-scale: the flag changes nothing' --task similarity --train-data-file scored.tsv --max-similarity 5 --similarity-scale 1 \
  --job-dir refused-7
expect 2 '1 weight for 2 sizes' --task similarity --train-data-file pairs.tsv --matryoshka-dims 8,4 --matryoshka-weights 1 --job-dir refused-8
expect 2 'numbers of the model' --task similarity --train-data-file pairs.tsv --matryoshka-dims 4096 --job-dir refused-9
expect 2 'no row has a weight' --task similarity --train-data-file scored.tsv --max-similarity 5 --similarity-loss cosent --weight-column score \
  --job-dir refused-10
expect 3 'triplet loss takes one negative' --task similarity --train-data-file pairs.tsv --similarity-loss triplet --job-dir refused-11
expect 3 'neither 0 nor' --task similarity --train-data-file scored.tsv --similarity-loss contrastive --max-similarity 5 --job-dir refused-12
expect 3 '--max-similarity' --task similarity --train-data-file scored.tsv --max-steps 2 --job-dir refused-1
expect 3 'no column has a usual name for labels' --task similarity --train-data-file pairs.tsv --similarity-loss cosine --job-dir refused-2
expect 3 'to compare with' --task similarity --train-data-file triplets.csv --text-column negative --job-dir refused-3
expect 2 'only --task similarity' --train-data-file "$sample" --pooling cls --job-dir refused-4
expect 2 'teacher: the flag changes nothing' --task similarity --train-data-file pairs.tsv --similarity-loss symmetric --teacher cosine/model --job-dir refused-19
expect 2 'there is no teacher' --task similarity --train-data-file pairs.tsv --similarity-loss embedding_mse --job-dir refused-20
expect 2 'no short form' --task similarity --train-data-file pairs.tsv --teacher cosine/model --matryoshka-dims 8 --job-dir refused-21
expect 2 'teacher-scale: the flag changes nothing' --task similarity --train-data-file pairs.tsv --similarity-loss symmetric --teacher-scale 2 \
  --job-dir refused-22
expect 3 "a teacher's scores" --task similarity --train-data-file triplets.csv --similarity-loss margin_mse --job-dir refused-23
expect 3 'compares the passages of a row' --task similarity --train-data-file pairs.tsv --similarity-loss margin_mse --teacher cosine/model --job-dir refused-24
finish
