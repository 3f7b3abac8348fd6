#!/usr/bin/env bash
# Tests --probe: fine-tunings of the encoder while it is pre-trained, in processes of their own. They change no bit of the
# result, survive kills at any moment, also their own, and each score is in the event files once.
#   probe.sh BERTH [KILLS]
. "$(dirname "$0")/lib.sh"
kills=${2:-4}

for i in $(seq 60); do
  word=$([ $((i % 2)) = 0 ] && echo old || echo broad)
  printf '{"text": "The %s river runs past number %d, and the unbelievable baker sells bread there in the morning."}\n' $word "$i"
done >texts.jsonl
{
  echo text,label
  for i in $(seq 80); do
    [ $((i % 2)) = 0 ] && echo "bread number $i,food" || echo "river number $i,water"
  done
} >rivers.csv
for i in $(seq 30); do printf 'Aunt O\nIda B-PER\nruns O\n\nRome B-LOC\nis O\nnumber O\n%d O\n\n' "$i"; done >words.conll
mkdir tmp
export TMPDIR=$scratch/tmp

flags=(--task mlm --train-data-file texts.jsonl --model "$tiny" --init random --batch-size 8 --max-steps 20 --save-steps 4 --save-total-limit 100
  --eval-steps 10 --learning-rate 1e-3 --warmup-steps 5 --max-seq-length 32 --validation-split 0.2 --threads 1)
probes=(--probe "rivers.csv,tags:ner=words.conll" --probe-steps 10 --probe-samples 24)

# probed_steps FILE: the steps of the probe lines in a log, one after the other.
probed_steps() { sed -n 's/.*"event":"probe".*"step":\([0-9]*\),"name":"rivers".*/\1/p' "$1" | tr '\n' ' '; }

# check_events JOB: each step that was probed has one file in the event files, with each score once.
check_events() {
  local file step
  [ "$(ls "$1"/summaries/probe | wc -l)" = 3 ] || fail "$1: not one event file for each probed step"
  for step in 0 10 20; do
    file=$1/summaries/probe/events.out.tfevents.$(printf %010d $step).probe
    "$berth" --mode inspect "$file" --json >events.json 2>err.txt || fail "inspecting $file: $(tail -n 1 err.txt)"
    for tag in probe/rivers/accuracy probe/rivers/loss probe/tags/entity_f1; do
      tr -d ' \n' <events.json | says "\"$tag\":\[\[$step,[-0-9.e]*\]\]" || fail "$file has not one $tag"
    done
  done
  [ -z "$(ls tmp)" ] || fail "temporary files remain after $1: $(ls tmp)"
}

# wait_for_probe PID: waits until a fine-tuning of the job runs, and sets `child` to its process.
wait_for_probe() {
  child=
  until child=$(pgrep -P "$1" | sed -n 1p) && [ -n "$child" ]; do
    kill -0 "$1" 2>/dev/null || return 1
    sleep 0.01
  done
}

# runs PID: whether the process computes. One that has ended may stay as a zombie until the first process of the machine or the
# container looks after it.
runs() { [ -n "$1" ] && grep -qs '^State:[[:space:]]*[^[:space:]ZX]' "/proc/$1/status"; }

# A run with probes ends in the same bits as one without them, and tells what it found.
"$berth" "${flags[@]}" --job-dir plain >/dev/null 2>err.txt || fail "the run without probes: $(tail -n 1 err.txt)"
expected=$(sha256sum <plain/model/model.safetensors)
expect 0 finished "${flags[@]}" "${probes[@]}" --job-dir whole
[ "$(sha256sum <whole/model/model.safetensors)" = "$expected" ] || fail "probes change the weights"
[ "$(probed_steps err.txt)" = "0 10 20 " ] || fail "probed at the steps $(probed_steps err.txt)"
grep -q 'probe rivers: accuracy 0.[0-9]* at step 0, [01].[0-9]* at step 20' err.txt || fail "no summary of the probe"
grep -q 'probes took .* % of the training' err.txt || fail "does not tell what the probes cost"
check_events whole
[ "$(tr -d ' \n' <whole/metrics.json | grep -o '"name":"tags"' | wc -l)" = 3 ] || fail "metrics.json lacks scores"
grep -q share_of_run whole/metrics.json || fail "metrics.json does not tell the probes' share"
"$berth" "${flags[@]}" "${probes[@]}" --job-dir again --log-format text >/dev/null 2>err.txt
grep -q '^Update 10  probe rivers  accuracy' err.txt || fail "the text log has no probe: $(cat err.txt)"
scores() { tr -d ' \n' <"$1/metrics.json" | grep -o '"scores":.*' | sed 's/"seconds":[0-9.e-]*//g; s/\].*//'; }
[ "$(scores again)" = "$(scores whole)" ] || fail "the scores of equal runs differ"

# Killed in a probe or elsewhere, and started again, it ends in the same bits with each score once. No probe outlives its job.
for i in $(seq "$kills"); do
  "$berth" "${flags[@]}" "${probes[@]}" --job-dir killed >/dev/null 2>err.txt &
  pid=$!
  wait_for_probe $pid
  [ $((i % 3)) = 0 ] || sleep "0.$((RANDOM % 10))$((RANDOM % 10))"
  child=$(pgrep -P $pid | sed -n 1p)
  kill -9 $pid 2>/dev/null && echo "killed${child:+ in a probe}"
  wait $pid 2>/dev/null
  for _ in $(seq 500); do runs "$child" && sleep 0.01; done
  runs "$child" && fail "a probe outlives its job"
done
expect 0 finished "${flags[@]}" "${probes[@]}" --job-dir killed
[ "$(sha256sum <killed/model/model.safetensors)" = "$expected" ] || fail "the weights differ after kills"
[ "$(scores killed)" = "$(scores whole)" ] || fail "the scores differ after kills"
check_events killed

# A stop ends a probe at once. The job saves its state and goes on from there, with or without probes. The probe of this job
# would take minutes.
{ cat rivers.csv; for i in $(seq 60000); do echo "number $i of the bread,food"; echo "number $i of a river,water"; done; } >long.csv
long=(--probe long.csv --probe-samples 100000)
"$berth" "${flags[@]}" --max-steps 100000 --job-dir begun >/dev/null 2>err.txt &
pid=$!
until [ -e begun/checkpoints/step-00000004/MANIFEST.json ] || ! kill -0 $pid 2>/dev/null; do sleep 0.01; done
kill -TERM $pid
wait $pid
first=$(sed -n 's/.*stopped by a signal after step \([0-9]*\) of.*/\1/p' err.txt | tail -n 1)
"$berth" "${flags[@]}" --max-steps 100000 "${long[@]}" --job-dir begun >/dev/null 2>err.txt &
pid=$!
wait_for_probe $pid || fail "a resumed job without earlier probes does not probe: $(tail -n 1 err.txt)"
kill -TERM $pid
wait $pid
code=$?
[ $code = 143 ] || fail "exit $code on SIGTERM in a probe: $(tail -n 1 err.txt)"
runs "$child" && fail "the probe goes on after SIGTERM"
tail -n 1 err.txt | says "stopped by a signal after step $first of" || fail "trained while it probed"
grep -q '"event":"probe"' err.txt && fail "waited for the probe on SIGTERM"
[ -z "$(ls tmp)" ] || fail "temporary files remain after SIGTERM: $(ls tmp)"

# A probe that fails is a warning. Its log is kept.
cp rivers.csv gone.csv
"$berth" "${flags[@]}" --probe gone.csv --probe-steps 1 --probe-samples 8 --job-dir warned >/dev/null 2>warned.txt &
pid=$!
until grep -qs '"event":"probe"' warned.txt || ! kill -0 $pid 2>/dev/null; do sleep 0.01; done
kill -STOP $pid
rm gone.csv
kill -CONT $pid
wait $pid || fail "a failed probe ends the job: $(tail -n 1 warned.txt)"
grep '"WARNING"' warned.txt | says 'probe gone failed at step 20: exit code 4: .*no such file.*training goes on' ||
  fail "does not warn of a failed probe: $(cat warned.txt)"
grep -q 'no such file' warned/probes/step-00000020-gone.log || fail "the log of the failed probe is not kept"
[ "$(sha256sum <warned/model/model.safetensors)" = "$expected" ] || fail "a failed probe changes the weights"

# Encoders that learn from a teacher are probed too.
expect 0 finished "${flags[@]}" --teacher "$tiny" --max-steps 2 --probe rivers.csv --probe-samples 16 --job-dir distilled
[ "$(probed_steps err.txt)" = "0 2 " ] || fail "distillation is probed at the steps $(probed_steps err.txt)"

# A comma in a path has a backslash.
cp rivers.csv 'ri,vers.csv'
"$berth" "${flags[@]}" --probe 'ri\,vers.csv,tags:ner=words.conll' --probe-samples 24 --job-dir dry --dry-run >out.txt 2>err.txt ||
  fail "a comma in a path: $(tail -n 1 err.txt)"
grep -q '^probes  *ri-vers: sequence_classification' out.txt || fail "a comma in a path: $(cat out.txt)"

# --dry-run lists the probes. What cannot be probed is refused before anything is trained.
"$berth" "${flags[@]}" "${probes[@]}" --job-dir dry --dry-run >out.txt 2>err.txt || fail "--dry-run: $(tail -n 1 err.txt)"
grep -q '^probes  *rivers: sequence_classification, 6 updates on 24 examples, about 16 to score' out.txt ||
  fail "--dry-run does not list the probes: $(cat out.txt)"
grep -q '^probed  *3 times' out.txt && grep -q '^probe  *[0-9.]* MiB' out.txt || fail "--dry-run: $(cat out.txt)"
cut -d, -f1 rivers.csv >texts.csv
expect 4 'no such file' "${flags[@]}" --probe missing.csv --job-dir bad
expect 2 'is not a task' "${flags[@]}" --probe nerr=words.conll --job-dir bad
expect 3 '--probe texts' "${flags[@]}" --probe texts.csv --job-dir bad
expect 2 'does not pre-train' --train-data-file rivers.csv --probe rivers.csv --job-dir bad
expect 14 'of memory' "${flags[@]}" "${probes[@]}" --memory-limit 1000000 --job-dir bad
[ -e bad/checkpoints ] && fail "a refused job leaves checkpoints"
[ -z "$(ls tmp)" ] || fail "temporary files remain: $(ls tmp)"
finish
