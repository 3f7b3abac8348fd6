#!/usr/bin/env bash
# Trains with several workers what needs more than one model or more than one mean: an ELECTRA beside its generator, a BERT with next
# sentences, and students of a teacher. The workers must learn what one learns.
# Texts that are compared with the texts of other workers, too.
#   cluster_tasks.sh BERTH
. "$(dirname "$0")/lib.sh"
. "$repository/tests/jobs/workers_lib.sh"
flags=(--threads 1 --batch-size 8 --max-seq-length 32 --logging-steps 1 --learning-rate 1e-4 --adam-epsilon 1e-4 --validation-split 0.2
  --reduce-dtype fp32 --precision fp32 --peer-timeout 5 --rendezvous-timeout 60)

# compare NAME FLAG...: trains with one, two and three workers, whose losses must be equal.
compare() {
  local name=$1 size
  shift
  "$berth" "${flags[@]}" "$@" --job-dir "$name" >/dev/null 2>err.txt || fail "$name: one worker: $(tail -n 1 err.txt)"
  losses "$name" >alone.txt
  for size in 2 3; do
    start $size "$@" --job-dir "$name-$size"
    end_with "$(zeros $size)" "$name: $size workers"
    losses "$name-$size" >together.txt
    nearly_equal alone.txt together.txt || fail "$name: $size workers learn something else"
    [ -s "$name-$size/model/model.safetensors" ] || fail "$name: $size workers write no model"
    [ ! -e "$name-$size/teacher" ] || fail "$name: $size workers leave the teacher's outputs"
  done
}

cat "$repository"/examples/topics/*.txt | sed -n 1,120p >texts.txt
sed 's/"model_type": "bert"/"model_type": "electra", "embedding_size": 64/; s/BertModel/ElectraModel/' "$tiny/config.json" >electra.json
compare electra --task electra --train-data-file texts.txt --init random --model-config electra.json --vocab-file "$tiny/vocab.txt" \
  --max-steps 12 --eval-steps 6
[ -s electra-2/model/generator/model.safetensors ] || fail "two workers write no generator"

awk '{ print } NR % 3 == 0 || NR % 7 == 0 { print "" }' texts.txt >documents.txt
compare next --task mlm_nsp --train-data-file documents.txt --model "$tiny" --max-steps 12 --eval-steps 6
compare budget --task mlm_nsp --train-data-file documents.txt --model "$tiny" --max-steps 12 --token-budget 150

sed 's/"num_hidden_layers": 2/"num_hidden_layers": 1/' "$tiny/config.json" >student.json
student=(--task mlm --teacher "$tiny" --init random --model-config student.json --vocab-file "$tiny/vocab.txt" --train-data-file texts.txt)
compare embeddings "${student[@]}" --max-steps 8
compare states "${student[@]}" --distillation-target hidden_states --max-steps 8
"$berth" "${flags[@]}" --train-data-file "$sample" --max-steps 4 --job-dir large >/dev/null 2>err.txt || fail "the teacher: $(tail -n 1 err.txt)"
compare classes --train-data-file "$sample" --teacher large --distillation-weight 0.9 --max-train-samples 80 --max-steps 8

# Texts that are compared: the negatives of all workers count, in every micro-batch, and also where each of them embeds parts of its share.
topics=("the ball was kicked into the goal" "bread with butter and cheese" "the train left the station" "rain fell on the hills")
{
  printf 'anchor,positive,negative_1,negative_2\n'
  for i in $(seq 0 59); do printf '%s %d,%s,%s,%s\n' "${topics[i % 4]}" "$i" "${topics[i % 4]} $((i / 3))" "${topics[(i + 1) % 4]}" "${topics[(i + 2) % 4]} $i"; done
} >rows.csv
{
  printf 'sentence1,sentence2,score\n'
  for i in $(seq 0 59); do printf '%s %d,%s,0.%d\n' "${topics[i % 4]}" "$i" "${topics[(i / 4) % 4]} $((i % 5))" "$((i * 7 % 10))"; done
} >scored.csv
rows=(--task similarity --train-data-file rows.csv --model "$tiny" --max-steps 6 --eval-steps 3)
compare negatives "${rows[@]}" --batch-sampler no_duplicates --matryoshka-dims 32,8 --gradient-accumulation-steps 2
compare guided "${rows[@]}" --guide self --guide-margin 0.01 --embedding-mini-batch-size 2
compare another-guide "${rows[@]}" --guide "$tiny" --guide-margin 0.01
compare labels "${rows[@]}" --eval-data-file scored.csv --matryoshka-dims 32,8
grep -q '"spearman_cosine_dim_8"' labels-3/metrics.json || fail "workers do not score labelled rows to evaluate on"
compare sources --task similarity --train-data-file rows.csv --train-source scored.csv,loss=cosent --matryoshka-dims 32,8 --model "$tiny" --max-steps 6
# The last update of a source has one row, so that one worker and then two have none.
head -n 58 scored.csv >odd.csv
compare odd-sources --task similarity --train-data-file rows.csv --train-source odd.csv,loss=cosent --train-source rows.csv,loss=symmetric --guide "$tiny" \
  --batch-sampler no_duplicates --model "$tiny" --max-steps 24
compare directions "${rows[@]}" --similarity-loss symmetric --token-budget 300
compare cosent --task similarity --train-data-file scored.csv --similarity-loss cosent --model "$tiny" --max-steps 6 --eval-steps 3
compare angle --task similarity --train-data-file scored.csv --similarity-loss angle --model "$tiny" --max-steps 6
compare lists --task reranking --train-data-file rows.csv --reranking-loss softmax --model "$tiny" --max-steps 6
awk -F , 'NR == 1 { print $0 ",margins"; next } { printf "%s,\"[%d, 0.%d]\"\n", $0, NR % 4, NR % 7 }' rows.csv >margins.csv
compare margins --task reranking --train-data-file margins.csv --reranking-loss margin_mse --model "$tiny" --max-steps 6
python3 - <<'PYTHON' || fail "workers evaluate in other batches"
import json
for job in ("negatives", "guided", "cosent"):
    alone, two, three = (json.load(open(f"{job}{end}/metrics.json"))["eval"] for end in ("", "-2", "-3"))
    for other in (two, three):
        assert abs(alone["loss"] - other["loss"]) < 1e-4 * max(1, alone["loss"]), (job, alone, other)
PYTHON

# A stopped job of them goes on to the bits of an undisturbed one.
stopped=("${rows[@]}" --max-steps 14 --save-steps 4 --embedding-mini-batch-size 2 --gradient-accumulation-steps 2)
start 2 "${stopped[@]}" --job-dir whole
end_with '0 0' 'texts compared by two workers'
start 2 "${stopped[@]}" --job-dir broken
until [ -e broken/checkpoints/step-00000004/MANIFEST.json ] || ! kill -0 "${pids[0]}" 2>/dev/null; do sleep 0.02; done
kill -KILL "${pids[1]}" 2>/dev/null
ended
start 2 "${stopped[@]}" --job-dir broken
end_with '0 0' 'two workers go on to compare texts'
cmp -s whole/model/model.safetensors broken/model/model.safetensors || fail "a killed job of two workers made another model"

# A job that goes on as another number of workers takes the teacher's outputs of the first one.
long=("${student[@]}" --max-steps 4000 --save-steps 4 --save-total-limit 100 --job-dir moved)
start 2 "${long[@]}"
until [ -e moved/checkpoints/step-00000004/MANIFEST.json ] || ! kill -0 "${pids[0]}" 2>/dev/null; do sleep 0.05; done
kill -TERM "${pids[1]}"
end_with '143 143' 'a stopped job with a teacher'
step=$(cd moved/checkpoints && ls -d step-* | tail -n 1 | sed 's/step-0*//')
start 3 "${long[@]}" --max-steps $((step + 4))
end_with '0 0 0' 'three workers go on with a teacher'
grep -q 'are taken from an earlier run' worker0.txt || fail "the teacher was asked again: $(cat worker0.txt)"
! grep -q 'are taken from an earlier run' worker1.txt || fail "worker 1 speaks of what worker 0 has read"

# Workers with another teacher are turned away by what it makes of texts.
cp -r "$tiny" other
sed -i '200s/$/x/' other/vocab.txt
flags+=(--max-steps 2)
start_leader 2 "${student[@]}" --teacher "$tiny" --job-dir differs
timeout 60 "$berth" "${flags[@]}" "${student[@]}" --teacher other --world-size 2 --rank 1 --job-dir differs >/dev/null 2>worker1.txt
[ $? = 5 ] && grep -q 'other flags' worker1.txt || fail "another teacher: $(tail -n 1 worker1.txt)"
kill -TERM "${pids[0]}"
ended
finish
