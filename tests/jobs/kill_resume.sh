#!/usr/bin/env bash
# Checks that a job which is killed at any moment and started again ends with the same bits as an uninterrupted one.
#   kill_resume.sh BERTH [KILLS] [TERMS] [SEED] [DEVICE]
# KILLS and TERMS say how often a job is killed and stopped by SIGTERM, at moments that SEED draws. DEVICE is cpu, or xla-cpu for the XLA
# engine, whose plugin scripts/install-xla-plugin.sh installs. Then the jobs are only interrupted: the rest is the same on any engine.
. "$(dirname "$0")/lib.sh"
. "$repository/tests/jobs/interrupt_lib.sh"
kills=${2:-9} terms=${3:-4}
RANDOM=${4:-1}
device=${5:-cpu}

flags=(--train-data-file "$sample" --max-steps 24 --batch-size 4 --save-steps 3 --eval-steps 8 --logging-steps 1
  --learning-rate 1e-3 --save-total-limit 2 --gradient-accumulation-steps 2 --threads 2 --validation-split 0.05)

# These updates have few tokens, so that the gradients of matrices are kept as factors and have no memory of their own.
sed 's/"hidden_size": *[0-9]*/"hidden_size": 384/' "$tiny/config.json" >wide.json
few=(--train-data-file "$sample" --init random --model "$tiny" --model-config wide.json --max-steps 30
  --batch-size 1 --max-seq-length 32 --save-steps 4 --logging-steps 1 --learning-rate 1e-4 --threads 2 --validation-split 0.02)
if [ "$device" = xla-cpu ]; then
  plugin=${BERTH_XLA_PLUGINS:-$repository/build/xla-plugins}/pjrt-cpu-0.115.so
  if [ ! -s "$plugin" ]; then
    echo "NOT TESTED: there is no $plugin; run scripts/install-xla-plugin.sh, or set BERTH_XLA_PLUGINS"
    exit 77
  fi
  export ASAN_OPTIONS=detect_leaks=0:${ASAN_OPTIONS:-}  # plugins keep memory until the process ends
  on=(--device xla-cpu --pjrt-plugin "$plugin" --cache-dir cache)
  flags+=("${on[@]}") few+=("${on[@]}")
fi
gradients() { "$berth" "${few[@]}" "$@" --job-dir dry --dry-run 2>/dev/null | sed -n 's/^gradients  *//p'; }
[ "$device" != cpu ] || [ "$(gradients)" != "$(gradients --gradient-accumulation-steps 2)" ] || fail "no gradient is factored"

# whole_run FLAG...: runs the job without interruption. Sets `expected` to the checksum of its model, and `duration_ms`.
whole_run() {
  rm -rf whole
  duration_ms=$(date +%s%3N)
  "$berth" "$@" --job-dir whole >/dev/null 2>err.txt || fail "the uninterrupted run: $(tail -n 1 err.txt)"
  duration_ms=$(($(date +%s%3N) - duration_ms))
  expected=$(sha256sum <whole/model/model.safetensors)
  last=$(cd whole && echo checkpoints/step-* | sed 's/.* //')/MANIFEST.json
}

start_job() {
  rm -f err.txt
  "$berth" "${interrupted[@]}" --job-dir job >/dev/null 2>err.txt &
  pid=$!
}

clear_job() { rm -rf job; }

check_job() {
  [ "$(sha256sum <job/model/model.safetensors)" = "$expected" ] || fail "the weights differ"
  cmp "job/$last" "whole/$last" || fail "the last checkpoint differs: $(diff "job/${last%/*}/state.json" "whole/${last%/*}/state.json")"
  [ -z "$(find job/checkpoints job/model -name '*.part')" ] || fail "killed writes leave $(find job -name '*.part')"
  check_curves job/summaries/train
  check_curves job/summaries/eval
}

rm -rf job
whole_run "${few[@]}"
interrupted=("${few[@]}")
interrupt factored KILL $((kills / 3)) $duration_ms
whole_run "${flags[@]}"
interrupted=("${flags[@]}")
interrupt local KILL $((kills - kills / 3)) $duration_ms
interrupt local TERM "$terms" $duration_ms
[ "$device" = cpu ] || finish

# A second process in the same directory is refused and does not disturb the first one.
last_save=checkpoints/step-00000024/MANIFEST.json
hold job checkpoints/lease.json $last_save "${flags[@]}"
in_use='another process writes there'
expect 6 "$in_use" "${flags[@]}" --job-dir job
for flag in checkpoint-dir export-dir summary-dir; do
  expect 6 "$in_use" "${flags[@]}" --job-dir other --$flag job/checkpoints
done
for place in job/model job/summaries job/checkpoints/inside; do
  expect 6 "$in_use" "${flags[@]}" --job-dir $place
done
for place in job job/model job/model/inside job/checkpoints; do
  expect 6 "$in_use" --mode convert --model "$repository/examples/model" --export-dir $place
  expect 6 "$in_use" --mode export_only --model "$repository/examples/model" --export-dir $place
done
[ ! -e other ] && [ ! -e job/model ] && [ ! -e job/checkpoints/inside ] || fail "a refused process makes directories"
mkdir around && ln -s ../job around/model
expect 6 "$in_use" "${flags[@]}" --job-dir around
[ "$(ls around)" = model ] || fail "a refused job makes directories in its own: $(ls around)"
kill -CONT $pid
wait $pid || fail "the first of two processes: $(tail -n 1 held.txt)"
[ "$(sha256sum <job/model/model.safetensors)" = "$expected" ] || fail "the weights differ if a second process was started"
[ -z "$(find job -name lease.json)" ] || fail "lease.json remains after the job"

# If its directory is removed while it runs, the job says so and writes job.json again.
hold job checkpoints/step-00000003/MANIFEST.json $last_save "${flags[@]}"
rm -f job/job.json
kill -CONT $pid
wait $pid || fail "without its job.json: $(tail -n 1 held.txt)"
grep -q 'was removed while the job ran' held.txt || fail "does not tell that job.json was removed"
[ -s job/job.json ] && [ -s job/metrics.json ] || fail "a job whose job.json was removed leaves none"

# If all of it is removed, the job ends with that, and does not make the directory again.
hold removed checkpoints/step-00000003/MANIFEST.json $last_save "${flags[@]}"
rm -rf removed
kill -CONT $pid
wait $pid
[ $? = 4 ] || fail "a job whose directory was removed does not exit with 4: $(tail -n 1 held.txt)"
grep -q 'removed while the job ran' held.txt || fail "does not tell that its directory was removed: $(tail -n 1 held.txt)"
[ ! -e removed ] || fail "made the removed directory again: $(find removed)"

# Whatever else has the lease's name is refused and stays as it is.
echo precious >victim
mkdir linked taken
ln -s ../victim linked/lease.json
expect 4 'symbolic link' "${flags[@]}" --job-dir linked
[ "$(cat victim)" = precious ] || fail "the target of a link was overwritten"
mkdir taken/lease.json
expect 4 'is a directory' "${flags[@]}" --job-dir taken

# A finished job that is started again says so and exits with 0. Another job in its directory exits with 5.
"$berth" "${flags[@]}" --job-dir job --log-format text >/dev/null 2>err.txt || fail "a finished job: $(tail -n 1 err.txt)"
grep -q 'already finished' err.txt || fail "does not say that it is finished"
expect 0 finished --mode heartbeat --job-dir job
grep -q "^finished, 24 of 24 updates" out.txt || fail "the heartbeat of a finished job is: $(cat out.txt)"
cp -r job/model before
cp job/metrics.json before.json
rm -r job/model
expect 0 finished "${flags[@]}" --job-dir job
diff -r before job/model >diff.txt || fail "a model that was removed is written again otherwise: $(head -n 5 diff.txt)"
cmp -s before.json job/metrics.json || fail "metrics.json changes where a removed model is written again"
[ "$(sha256sum <job/model/model.safetensors)" = "$expected" ] || fail "a model that was removed is written again with other weights"
for part in model.safetensors config.json; do
  rm job/model/$part
  expect 0 finished "${flags[@]}" --job-dir job
  diff -r before job/model >diff.txt || fail "a model without $part is written again otherwise: $(head -n 5 diff.txt)"
done
truncate -s -100 job/model/model.safetensors
expect 0 finished "${flags[@]}" --job-dir job
diff -r before job/model >diff.txt || fail "a model that lost bytes is written again otherwise: $(head -n 5 diff.txt)"
cmp -s before.json job/metrics.json || fail "metrics.json changes where a model that lost bytes is written again"

# Without its model and its last checkpoint, an older checkpoint is named.
cp -r job older
rm -r older/model older/checkpoints/step-00000024
expect 4 'older/checkpoints/step-000000' "${flags[@]}" --job-dir older
expect 0 finished --mode export_only --job-dir older --export-dir older/model
[ -s older/model/model.safetensors ] || fail "an older checkpoint was not exported"
expect 5 '--learning-rate' "${flags[@]}" --job-dir job --learning-rate 2e-3
expect 5 'used before' "${flags[@]}" --job-dir job --reuse-job-dir=false

# A checkpoint under another name, which would be resumed from, is passed over.
newest=$(ls -d job/checkpoints/step-* | tail -n 1)
cp -r "$newest" job/checkpoints/step-00099999
rm job/metrics.json
expect 0 finished "${flags[@]}" --job-dir job
[ "$(sha256sum <job/model/model.safetensors)" = "$expected" ] || fail "a renamed checkpoint was resumed from"

# If the newest checkpoint is damaged, the job resumes from an older one and ends with the same bits.
rm -rf job && "$berth" "${flags[@]}" --job-dir job >/dev/null 2>&1
rm job/metrics.json
newest=$(ls -d job/checkpoints/step-* | tail -n 1)
printf 'x' | dd of="$newest/model.safetensors" bs=1 seek=5000 conv=notrunc status=none
"$berth" "${flags[@]}" --job-dir job --log-format text >/dev/null 2>err.txt || fail "a damaged checkpoint: $(tail -n 1 err.txt)"
grep -q 'passing over the incomplete checkpoint' err.txt || fail "does not say that it passed over a checkpoint"
[ "$(sha256sum <job/model/model.safetensors)" = "$expected" ] || fail "the weights differ after a damaged checkpoint"
finish
