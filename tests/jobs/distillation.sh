#!/usr/bin/env bash
# Tests --teacher from the command line: an encoder learns the embeddings of another, from rows without labels, and a resumed
# job ends with the same bits.
#   distillation.sh BERTH
. "$(dirname "$0")/lib.sh"

cat "$repository"/examples/topics/*.txt | sed -n 1,200p >texts.txt
teacher=$tiny
sed 's/"num_hidden_layers": 2/"num_hidden_layers": 1/' "$teacher/config.json" >student.json
flags=(--task mlm --teacher "$teacher" --init random --model-config student.json --vocab-file "$teacher/vocab.txt"
  --train-data-file texts.txt --max-steps 60 --batch-size 16 --learning-rate 1e-3 --save-steps 20 --save-total-limit 100 --max-seq-length 32)
"$berth" "${flags[@]}" --job-dir whole >/dev/null 2>err.txt || fail "training: $(tail -n 1 err.txt)"
grep -q 'held-out cosine_similarity' err.txt || fail "does not say how similar the embeddings are"
similarity=$(sed -n 's/.*"cosine_similarity": *\([0-9.]*\).*/\1/p' whole/metrics.json | tail -n 1)
awk -v s="${similarity:-0}" 'BEGIN { exit !(s > 0.3) }' || fail "learned too little: a similarity of $similarity"
grep -q '"BertModel"' whole/model/config.json || fail "the model is not saved as an encoder"
grep -aq '"classifier' whole/model/model.safetensors && fail "the map to the teacher's embeddings is exported"
grep -aq 'pooler.dense' whole/model/model.safetensors || fail "the pooler is missing"
grep -q 'tiny_model' whole/job.json || fail "job.json does not record the teacher"

# A finished job whose model was removed writes it again from its checkpoint, and asks no teacher.
cp -r "$teacher" gone
"$berth" "${flags[@]}" --teacher gone --max-steps 20 --job-dir again >/dev/null 2>err.txt || fail "training: $(tail -n 1 err.txt)"
mv again/model before
rm -r gone
expect 0 finished "${flags[@]}" --teacher gone --max-steps 20 --job-dir again
diff -r before again/model >diff.txt || fail "the model is written again otherwise: $(head -n 5 diff.txt)"
rm -r again

# A job that is killed after a checkpoint and resumed ends with the same bits.
"$berth" "${flags[@]}" --job-dir job >/dev/null 2>&1 &
pid=$!
until [ -e job/checkpoints/step-00000020/MANIFEST.json ] || ! kill -0 $pid 2>/dev/null; do sleep 0.02; done
kill -9 $pid 2>/dev/null
wait $pid 2>/dev/null
"$berth" "${flags[@]}" --job-dir job >/dev/null 2>err.txt || fail "after the kill: $(tail -n 1 err.txt)"
cmp -s whole/model/model.safetensors job/model/model.safetensors || fail "the model differs after a resume"

# The same with the hidden state of every token. The first document has several sequences.
{ tr '\n' ' ' <texts.txt | cut -c 1-2000; sed 1d texts.txt; } >documents.txt
states=("${flags[@]}" --distillation-target hidden_states --train-data-file documents.txt)
"$berth" "${states[@]}" --job-dir states >/dev/null 2>err.txt || fail "hidden states: $(tail -n 1 err.txt)"
grep -q 'teacher [0-9.]* [KM]iB' err.txt || fail "the memory does not name the teacher: $(grep memory: err.txt)"
grep -q 'held-out cosine_similarity' err.txt || fail "does not say how similar the hidden states are"
similarity=$(sed -n 's/.*"cosine_similarity": *\([0-9.]*\).*/\1/p' states/metrics.json | tail -n 1)
awk -v s="${similarity:-0}" 'BEGIN { exit !(s > 0.3) }' || fail "learned too little of hidden states: a similarity of $similarity"
grep -q '"task": "hidden_state_distillation"' states/job.json || fail "job.json does not name the task"
grep -q '"distillation-target": "hidden_states"' states/job.json || fail "job.json does not record the target"
grep -aq '"teacher_states' states/model/model.safetensors && fail "the map to the teacher's states is exported"
[ -e states/teacher ] && fail "the teacher's hidden states were left behind"
"$berth" "${states[@]}" --job-dir killed >/dev/null 2>&1 &
pid=$!
until [ -e killed/checkpoints/step-00000020/MANIFEST.json ] || ! kill -0 $pid 2>/dev/null; do sleep 0.02; done
kill -9 $pid 2>/dev/null
wait $pid 2>/dev/null
[ -e killed/metrics.json ] && was_killed=no || was_killed=yes
"$berth" "${states[@]}" --job-dir killed >/dev/null 2>err.txt || fail "hidden states after the kill: $(tail -n 1 err.txt)"
[ $was_killed = no ] || grep -q 'of 200 texts are taken from an earlier run' err.txt || fail "the teacher was asked again: $(cat err.txt)"
cmp -s states/model/model.safetensors killed/model/model.safetensors || fail "the model differs after a resume"
expect 5 'was "hidden_states" and is now "embedding"' "${states[@]}" --distillation-target embedding --job-dir states
sed '200s/$/x/' "$teacher/vocab.txt" >other.txt
expect 2 "the teacher's vocabulary is not the student's" "${states[@]}" --vocab-file other.txt --job-dir other
expect 2 "makes other tokens of the same text" "${states[@]}" --do-lower-case=false --job-dir other
expect 14 "of it for the teacher's outputs" "${states[@]}" --memory-limit 20000000 --job-dir other

# The encoder can be fine-tuned.
"$berth" --model whole/model --train-data-file "$sample" --max-steps 2 --job-dir tuned >/dev/null 2>err.txt ||
  fail "fine-tuning the encoder: $(tail -n 1 err.txt)"

expect 4 'no such folder here' "${flags[@]}" --teacher missing --job-dir other

# The teacher's outputs are kept until the job is finished, and taken from there by a resumed job.
[ -e whole/teacher ] && fail "the teacher's outputs were left behind"
timeout -s TERM 120 "$berth" "${flags[@]}" --max-steps 100000 --job-dir stopped >/dev/null 2>err.txt &
pid=$!
until [ -e stopped/checkpoints/step-00000020/MANIFEST.json ] || ! kill -0 $pid 2>/dev/null; do sleep 0.02; done
pkill -TERM -P $pid; wait $pid 2>/dev/null
[ -e stopped/teacher/train-00000.safetensors ] || fail "the teacher's outputs are not kept"
timeout -s TERM 120 "$berth" "${flags[@]}" --max-steps 100000 --job-dir stopped >/dev/null 2>resumed.txt &
pid=$!
until grep -qs '"event":"step"' resumed.txt || ! kill -0 $pid 2>/dev/null; do sleep 0.02; done
pkill -TERM -P $pid; wait $pid 2>/dev/null
grep -q 'of 200 texts are taken from an earlier run' resumed.txt || fail "the teacher was asked again: $(cat resumed.txt)"
rm -rf again && "$berth" --mode export_only --job-dir stopped --export-dir again >/dev/null 2>err.txt ||
  fail "export_only: $(tail -n 1 err.txt)"
grep -q '"BertModel"' again/config.json || fail "export_only does not save an encoder"

# A classifier learns from a fine-tuned teacher beside the labels.
few=(--train-data-file "$sample" --max-steps 8 --batch-size 8 --learning-rate 1e-3)
"$berth" "${few[@]}" --job-dir large >/dev/null 2>err.txt || fail "the teacher's training: $(tail -n 1 err.txt)"
"$berth" "${few[@]}" --teacher large --distillation-weight 0.9 --job-dir small >/dev/null 2>err.txt ||
  fail "learning from a classifier: $(tail -n 1 err.txt)"
cmp -s small/model/model.safetensors large/model/model.safetensors && fail "the teacher has no effect"

printf 'Aunt B-PER\nIda I-PER\n\nRome B-LOC\nis O\n' >words.conll
printf 'text,label\none,a\ntwo,b\nthree,a\nfour,b\n' >other.csv
expect 2 'the teacher has no labels' --teacher "$tiny" --train-data-file other.csv --job-dir other
expect 2 "the teacher's labels differ from the rows' labels" --teacher large --train-data-file other.csv --job-dir other
printf '{"question": "who", "choices": ["a", "b"], "label": 0}\n%.0s' 1 2 3 4 >choices.jsonl
printf '{"query": "who", "positive": "a", "negative": "b"}\n%.0s' 1 2 3 4 >ranked.jsonl
printf '{"query": "who", "passage": "a", "score": 1}\n%.0s' 1 2 3 4 >scored.jsonl
expect 2 'there is no distillation for multiple_choice' --task swag --teacher large --train-data-file choices.jsonl --job-dir other
expect 2 'there is no distillation for reranking' --task reranking --teacher large --train-data-file ranked.jsonl --job-dir other
expect 2 'there is no distillation for reranking' --task reranking --teacher large --train-data-file scored.jsonl --job-dir other
expect 2 'there is no distillation for token_classification' --task ner --teacher large \
  --train-data-file words.conll --job-dir other
finish
