#!/usr/bin/env bash
# Kills and stops jobs with all of their files in gs:// at random moments, as kill_resume.sh does with local ones. The server has random
# faults and takes the bytes of an upload slowly, so that many moments lie in one. Each job must end like a local one.
#   gcs_kills.sh BERTH FAKE_GCS_SERVER GCS_COPY [KILLS] [TERMS] [SEED]
# KILLS and TERMS say how often a job is killed and stopped by SIGTERM, at moments that SEED draws. It draws the faults, too.
. "$(dirname "$0")/gcs_lib.sh"
. "$repository/tests/jobs/interrupt_lib.sh"
kills=${4:-3} terms=${5:-2} seed=${6:-1}
RANDOM=$seed
flags+=(--logging-steps 1 --batch-size 4 --max-seq-length 32 --threads 1)
count=0 left=0
# Of a small model more processes begin in the same time.
tar -C "$(dirname "$tiny")" -czf model.tar.gz "$(basename "$tiny")"

# leases: the leases that are in the job directory.
leases() { "$copy" --list "gs://bucket/jobs/killed-$count" | grep '/lease\.json$'; }

# A process may find leases that another one left: one that was killed, or had no time left for the request that removes them. It knows
# that the other one has ended, and waits for nothing.
start_job() {
  ! grep -qs 'waiting until the lease' err.txt || fail "waited for a lease: $(grep 'the lease' err.txt)"
  ! grep -qs '^{"code":143' err.txt || [ -z "$(leases)" ] || left=$((left + 1))
  rm -f err.txt
  "$berth" "${inputs[@]}" "${flags[@]}" --job-dir "gs://bucket/jobs/killed-$count" >/dev/null 2>err.txt &
  pid=$!
}

clear_job() { count=$((count + 1)); }

check_job() {
  local object
  same "killed-$count" "${results[@]}"
  # Where the last process was killed after its work, the next one finds that all is done and takes no lease.
  ! grep -q '"event":"start"' err.txt || [ -z "$(leases)" ] || fail "a finished job leaves $(leases)"
  rm -rf summaries
  "$copy" --list "gs://bucket/jobs/killed-$count/summaries" >objects.txt
  while read -r object; do "$copy" "$object" "${object#"gs://bucket/jobs/killed-$count/"}" >/dev/null; done <objects.txt
  check_curves summaries/train
  check_curves summaries/eval
}

"$berth" --train-data-file "$sample" --model model.tar.gz "${flags[@]}" --job-dir local >/dev/null 2>err.txt ||
  fail "the local run: $(tail -n 1 err.txt)"
start_fake --connection-mbps 10 --random-faults "$seed:0.02"
begin_ms=$(date +%s%3N)
start_job
wait $pid || fail "the job in gs://: $(tail -n 1 err.txt)"
duration_ms=$(($(date +%s%3N) - begin_ms))
check_job
clear_job
interrupt gs KILL "$kills" $duration_ms
interrupt gs TERM "$terms" $duration_ms
echo "after SIGTERM $left processes left a lease"
finish
