#!/usr/bin/env bash
# Runs jobs that lose what they hold in gs://: the lease of their directory, the storage itself. Others want what a running job holds.
#   gcs_lease.sh BERTH FAKE_GCS_SERVER GCS_COPY
. "$(dirname "$0")/gcs_lib.sh"

# yield_cpu PID: from now on, the threads of a job yield to the tests that run beside this one.
yield_cpu() {
  local thread
  for thread in /proc/"$1"/task/*; do renice -n 19 -p "${thread##*/}" >/dev/null; done
}

echo "== two jobs at the same moment in one directory"
start_fake
# start_one N: starts a long job in the background; its log is one-N.txt.
start_one() {
  "$berth" --train-data-file gs://bucket/data/df.pickle --model gs://bucket/models/tiny.tar.gz "${flags[@]}" \
    --max-steps 100000 --job-dir gs://bucket/jobs/both >/dev/null 2>one-$1.txt &
  pids[$1]=$!
}
pids=()
start_one 1
start_one 2
wait -n "${pids[@]}"
code=$?
for n in 1 2; do kill -0 "${pids[n]}" 2>/dev/null && left=$n; done
yield_cpu "${pids[left]}"
[ $code = 6 ] || fail "one of two jobs ends with $code: $(tail -n 1 one-1.txt) $(tail -n 1 one-2.txt)"
grep -q 'holds the lease' one-$((3 - left)).txt || fail "the job that leaves does not say why: $(tail -n 1 one-$((3 - left)).txt)"
# The other one is suspended until a third one has taken both of its leases. It then leaves without writing anything.
kill -STOP "${pids[left]}"
start_one 3
for _ in $(seq 900); do
  [ "$(grep -c 'took over the lease' one-3.txt)" -ge 2 ] && break
  sleep 0.1
done
grep -q 'took over the lease' one-3.txt || fail "the lease of a suspended job is not taken: $(tail -n 1 one-3.txt)"
kill -CONT "${pids[left]}"
for _ in $(seq 3000); do kill -0 "${pids[left]}" 2>/dev/null || break; sleep 0.1; done
kill -KILL "${pids[left]}" 2>/dev/null
wait "${pids[left]}"
[ $? = 6 ] || fail "a job that was suspended ends otherwise: $(tail -n 1 one-$left.txt)"
# It trains, or is about to. Stopped, it gives the lease back.
kill -TERM "${pids[3]}"
wait "${pids[3]}"
[ $? = 143 ] || fail "the job that took the lease over: $(tail -n 1 one-3.txt)"
"$copy" gs://bucket/jobs/both/lease.json got >/dev/null 2>&1 && fail "the lease was not given back"

echo "== directories that overlap with those of a running job"
start_fake
# background NAME FLAG...: starts a long job in the background; its log is NAME.txt. Waits until it trains.
background() {
  local name=$1
  shift
  "$berth" "${inputs[@]}" "${flags[@]}" --max-steps 100000 --save-steps 100000 --eval-steps 100000 "$@" >/dev/null 2>$name.txt &
  pid=$!
  until grep -qs '"event":"step"' $name.txt || ! kill -0 $pid; do sleep 0.05; done
  yield_cpu $pid
}
in_use='another process writes there'
model=(--model gs://bucket/models/tiny.tar.gz)
background whole --job-dir gs://bucket/jobs/whole
# Each waits until it has seen the lease renewed, so all of them wait at the same time.
refusals=()
# refused N FLAG...: checks in the background that the command ends with 6; what is wrong is in refused-N.txt.
refused() {
  local n=$1
  shift
  (
    cd "$(mktemp -d refused.XXXXXX)" || exit
    expect 6 "$in_use" "$@"
  ) >refused-$n.txt &
  refusals+=($!)
}
refused 1 "${inputs[@]}" "${flags[@]}" --job-dir gs://bucket/jobs/other-1 --export-dir gs://bucket/jobs/whole/model
refused 2 "${inputs[@]}" "${flags[@]}" --job-dir gs://bucket/jobs/other-2 --summary-dir gs://bucket/jobs/whole/summaries/mine
refused 3 "${inputs[@]}" "${flags[@]}" --job-dir gs://bucket/jobs/whole/checkpoints/mine
refused 4 --mode convert "${model[@]}" --export-dir gs://bucket/jobs/whole
refused 5 --mode convert "${model[@]}" --export-dir gs://bucket/jobs/whole/model
refused 6 --mode export_only "${model[@]}" --export-dir gs://bucket/jobs/whole/model/again
wait "${refusals[@]}"
cat refused-*.txt
[ -z "$(cat refused-*.txt)" ] || fail "a directory of a running job is not refused"
for file in model/config.json model/model.safetensors model/lease.json model/again/lease.json; do
  "$copy" gs://bucket/jobs/whole/$file got >/dev/null 2>&1 && fail "a refused process leaves $file"
done
kill -0 $pid || fail "the refused processes disturb the job: $(tail -n 1 whole.txt)"
# A killed job's lease holds nobody back.
kill -KILL $pid
wait $pid 2>/dev/null
expect 0 finished --mode convert "${model[@]}" --export-dir gs://bucket/jobs/whole/model
"$copy" gs://bucket/jobs/whole/lease.json got >/dev/null 2>&1 && fail "the lease of a killed job stays"
"$copy" gs://bucket/jobs/whole/model/lease.json got >/dev/null 2>&1 && fail "a conversion leaves its lease"
"$copy" gs://bucket/jobs/whole/model/model.safetensors got >/dev/null || fail "a conversion writes no model"
# A job whose model/ another one writes to does not begin.
background exporting --job-dir gs://bucket/jobs/exporting --export-dir gs://bucket/jobs/later/model
expect 6 "$in_use" "${inputs[@]}" "${flags[@]}" --job-dir gs://bucket/jobs/later
kill -TERM $pid
wait $pid
run later || fail "a job whose model/ is free again: $(tail -n 1 err.txt)"

echo "== storage that goes away"
start_fake
run gone --max-steps 120 --save-steps 12 --storage-retry-deadline 1 &
pid=$!
for _ in $(seq 400); do
  "$copy" gs://bucket/jobs/gone/checkpoints/step-00000012/MANIFEST.json got >/dev/null 2>&1 && break
  sleep 0.02
done
stop_server
wait $pid
[ $? = 10 ] || fail "storage gone: $(tail -n 1 err.txt)"
grep -q '"step":120' err.txt || fail "training did not go on without its storage: $(tail -n 1 err.txt)"
grep -q 'was not saved' err.txt || fail "no warning about the checkpoints"

echo "== stopped while it waits for storage"
stop_server
begin=$SECONDS
run waiting &
pid=$!
sleep 1
pkill -TERM -P $pid
wait $pid
[ $? = 143 ] || fail "stopped while it waits: $(tail -n 1 err.txt)"
[ $((SECONDS - begin)) -le 60 ] || fail "the job stopped only after $((SECONDS - begin)) s"
finish
