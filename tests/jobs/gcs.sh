#!/usr/bin/env bash
# Runs whole jobs with all of their files in gs://. With the emulator from PyPI the outputs must equal those of a local run. With
# our own fake server the job meets faults.
#   gcs.sh BERTH FAKE_GCS_SERVER GCS_COPY
. "$(dirname "$0")/gcs_lib.sh"

start_emulator() {
  stop_server
  local program port
  program=$(bash "$repository/scripts/install-emulator.sh") || { fail "the emulator cannot be installed"; finish; }
  port=$(/usr/bin/python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  "$program" start --host=127.0.0.1 --port="$port" --in-memory --default-bucket=bucket >emulator.txt 2>&1 &
  server_pid=$!
  export STORAGE_EMULATOR_HOST=http://127.0.0.1:$port
  for _ in $(seq 200); do
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break
    sleep 0.05
  done
  put_inputs
}

"$berth" --train-data-file "$sample" --model model.tar.gz "${flags[@]}" --job-dir local >/dev/null 2>err.txt ||
  fail "the local run: $(tail -n 1 err.txt)"

echo "== the PyPI emulator"
start_emulator
run whole || fail "the whole job in gs://: $(tail -n 1 err.txt)"
same whole "${results[@]}"
run whole --log-format text || fail "a finished job: $(tail -n 1 err.txt)"
grep -q 'already finished' err.txt || fail "does not say that it is finished"
"$berth" --mode heartbeat --job-dir gs://bucket/jobs/whole >out.txt 2>err.txt || fail "heartbeat: $(tail -n 1 err.txt)"
grep -q '^finished, 24 of 24 updates' out.txt || fail "the heartbeat of a finished job is: $(cat out.txt)"
"$berth" --mode predict --predict-data-file gs://bucket/data/df.pickle --job-dir gs://bucket/jobs/whole >/dev/null \
  2>err.txt || fail "predict in gs://: $(tail -n 1 err.txt)"
"$berth" --mode predict --predict-data-file "$sample" --job-dir local >/dev/null 2>&1
same whole predictions.tsv

echo "== faults of every kind"
for seed in 1 2; do
  start_fake --random-faults $seed:0.05
  run faults --log-level debug || fail "seed $seed: $(tail -n 1 err.txt)"
  same faults "${results[@]}"
  grep -qiE 'upload_id|Bearer' err.txt && fail "seed $seed: the log contains a secret"
  echo "seed $seed: $(grep -c 'attempt [0-9]* failed' err.txt) failures, same weights"
done

echo "== typos are found at once"
start_fake
begin=$SECONDS  # they are not retried for minutes
expect 4 'df.pickel' --train-data-file gs://bucket/data/df.pickel --job-dir gs://bucket/jobs/typo
expect 4 'did you mean' --train-data-file gs://bucket/data/df.pickel --job-dir gs://bucket/jobs/typo
expect 4 'no such bucket' --train-data-file gs://buckets/data/df.pickle --job-dir gs://bucket/jobs/typo
expect 4 'no such bucket' --train-data-file gs://bucket/data/df.pickle --job-dir gs://buckets/jobs/typo
expect 4 'models/tiny' --train-data-file gs://bucket/data/df.pickle --model gs://bucket/models/tiny --job-dir gs://bucket/jobs/typo
expect 4 'export-dir gs://buckets' --mode convert --model model.tar.gz --export-dir gs://buckets/model
expect 4 'export-dir gs://buckets' --mode export_only --model model.tar.gz --export-dir gs://buckets/model
expect 2 'can only be read' --train-data-file gs://bucket/data/df.pickle --job-dir http://127.0.0.1:1/jobs
[ $((SECONDS - begin)) -le 60 ] || fail "eight typos took $((SECONDS - begin)) s"
finish
