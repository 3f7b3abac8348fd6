#!/usr/bin/env bash
# Makes one system call of a job fail after another, as a full or broken disk would. The job must go on and end with the bits of an
# undisturbed run, or end with the right exit code and intact checkpoints, so that a second run ends with those bits.
#   faults.sh BERTH FAILING_CALLS [TRIES] [SEED] [KINDS] [SCENARIOS] [ERRORS]
# FAILING_CALLS is the library of tests/support/failing_calls.cpp. Of each kind of call, TRIES calls that SEED draws fail with each
# error; "all" lets each call fail. Without TRIES, one call of each kind fails with one error that a full or broken disk gives, and one
# is interrupted. KINDS, such as "sync rename", are the only kinds that fail, if there are any. SCENARIOS is "fresh" for a job that begins
# anew, "resumed" for one that goes on, or both. ERRORS, such as "EIO ENOSPC+", are the only errors, if there are any.
. "$(dirname "$0")/lib.sh"
library=$2 tries=${3:-}
RANDOM=${4:-1}
kinds=${5:-}
scenarios=${6:-${tries:+fresh} resumed}
errors=${7:-}

# A binary with AddressSanitizer wants its library to be the first.
preload="$(ldd "$berth" | sed -n 's/.*libasan[^ ]* => \([^ ]*\).*/\1/p') $library"

sed 's/"hidden_size": *[0-9]*/"hidden_size": 32/; s/"intermediate_size": *[0-9]*/"intermediate_size": 64/' "$tiny/config.json" >small.json
flags=(--train-data-file "$sample" --init random --model "$tiny" --model-config small.json --max-train-samples 40 --max-seq-length 32
  --max-steps 4 --batch-size 4 --save-steps 2 --eval-steps 4 --logging-steps 1 --threads 1 --validation-split 0.1
  --job-dir "$scratch/job")

# run_job [NAME=VALUE...]: runs the job, with these variables and the library if there are any.
run_job() {
  local load=()
  [ $# = 0 ] || load=(LD_PRELOAD="$preload" FAILING_BELOW="$scratch/job" FAILING_LOG="$scratch/calls.txt")
  env "${load[@]}" "$@" timeout 120 "$berth" "${flags[@]}" >/dev/null 2>err.txt
}

# intact: whether every complete checkpoint of the job equals that of the undisturbed run.
intact() {
  local manifest step
  for manifest in job/checkpoints/step-*/MANIFEST.json; do
    [ -e "$manifest" ] || continue
    step=$(basename "$(dirname "$manifest")")
    diff -rq "whole/checkpoints/$step" "job/checkpoints/$step" >diff.txt || return 1
  done
}

# judge SCENARIO KIND NUMBER ERROR CODES: checks how the job ended that had this fault, and what a second run makes of it.
judge() {
  local scenario=$1 kind=$2 number=$3 error=$4 codes=$5
  local name="$scenario: $error of $(sed -n 's/ failed$//p' calls.txt | sed -n 1p)"
  [[ " $codes " == *" $code "* ]] || fail "$name: exit $code: $(tail -n 1 err.txt)"
  tail -n 1 err.txt | says "^{\"code\":$code," || fail "$name: no final report: $(tail -n 3 err.txt)"
  [ "$codes" != 0 ] || ! grep '"severity":"WARNING"' err.txt | grep -v 'no better than\|are longer than' || fail "$name: warns"
  intact || fail "$name: a complete checkpoint is damaged: $(cat diff.txt)"
  [ "$scenario" = fresh ] || ls job/checkpoints/step-*/MANIFEST.json >/dev/null 2>&1 || fail "$name: the old checkpoint is gone"
  [ "$code" = 0 ] || run_job || fail "$name: the second run: $(tail -n 1 err.txt)"
  [ "$kind" = remove ] || [ -z "$(find job -name '*.part')" ] || fail "$name: leaves $(find job -name '*.part')"
  diff -rq whole/model job/model || fail "$name: another model"
  diff -rq whole/checkpoints/step-00000004 job/checkpoints/step-00000004 || fail "$name: another checkpoint"
  [ -s job/metrics.json ] || fail "$name: no metrics.json"
  [[ $error == *+ ]] || [ "$(curve job/summaries)" = "$expected_curve" ] || fail "$name: other points of the loss: $(curve job/summaries)"
}

# begin SCENARIO: makes the job directory in which a run under a fault begins.
begin() {
  rm -rf job calls.txt
  [ "$1" = fresh ] || cp -r stopped job
}

# row SCENARIO KIND ERROR CODES: lets calls of this kind fail, and prints a line of the table. With a + at the end of ERROR, all calls
# fail from the chosen one on.
row() {
  local scenario=$1 kind=$2 error=$3 codes=$4 calls chosen number last before=$failures
  local -A seen=()
  [ -z "$kinds" ] || [[ " $kinds " == *" $kind "* ]] || return
  [ -z "$errors" ] || [[ " $errors " == *" $error "* ]] || return
  calls=$(grep -c "^$kind " "$scenario.txt")
  [ "$calls" -gt 0 ] || { fail "$scenario: no call is a $kind"; return; }
  if [ "$tries" = all ]; then
    chosen=$(seq "$calls")
  else
    chosen=$(for _ in $(seq "${tries:-1}"); do echo $((RANDOM % calls + 1)); done | sort -nu)
  fi
  for number in $chosen; do
    begin "$scenario"
    last=$number
    [[ $error != *+ ]] || last=1000000000
    run_job FAILING_KIND="$kind" FAILING_AT="$number" FAILING_UNTIL="$last" FAILING_WITH="${error%+}"
    code=$?
    grep -q ' failed$' calls.txt || code=none  # this run had fewer calls
    seen[$code]=$((${seen[$code]:-0} + 1))
    [ $code = none ] || judge "$scenario" "$kind" "$number" "$error" "$codes"
  done
  printf '%-8s %-8s %-8s %6d %6d  %-8s ' "$scenario" "$kind" "$error" "$calls" "$(echo "$chosen" | wc -l)" "${codes/ / or }"
  for code in "${!seen[@]}"; do printf ' %s: %d' "$code" "${seen[$code]}"; done
  [ "$failures" = "$before" ] && echo || echo "  WRONG"
}

# disk SCENARIO KIND ERRORS...: a row for each error, or without TRIES for one of them.
disk() {
  local scenario=$1 kind=$2 error
  shift 2
  [ -n "$tries" ] || set -- "${@:RANDOM % $# + 1:1}"
  for error; do row "$scenario" "$kind" "$error" '0 10'; done
}

run_job || fail "the undisturbed run: $(tail -n 1 err.txt)"
mv job whole
expected_curve=$(curve whole/summaries)
cp -r whole stopped
rm -r stopped/metrics.json stopped/model stopped/checkpoints/step-00000004
for scenario in fresh resumed; do
  begin $scenario
  run_job FAILING_AT=0 || fail "a $scenario run in which nothing fails: $(tail -n 1 err.txt)"
  mv calls.txt $scenario.txt
  # The bytes of a file are on disk before it gets its name, and the name is after it.
  python3 - $scenario.txt <<'PYTHON' || fail "a $scenario run: a file that is not synced"
import os, sys
synced, unnamed = set(), set()
for line in open(sys.argv[1]):
    kind, _, path = line.rstrip("\n").split(" ", 2)
    folder, name = os.path.split(path)
    if kind == "sync":
        synced.add(f"{folder}/{name[1:].rsplit('.', 2)[0]}" if name.endswith(".part") else None)
        unnamed.discard(path)
    elif kind == "rename":
        assert path in synced, f"{path} gets its name before its bytes are synced"
        synced.remove(path)
        unnamed.add(folder)
assert not unnamed, f"names in {unnamed} are not synced"
PYTHON
done

# Where the place of the model turns read-only while the job trains, the job is to be started again.
if [ -z "$tries" ]; then
  begin fresh
  run_job FAILING_AT=0 FAILING_BELOW="$scratch/job/model" || fail "the run that counts: $(tail -n 1 err.txt)"
  first=$(awk '$1 == "open" { ++n; if (!first && !/lease[.]json/) first = n } END { print first }' calls.txt)
  begin fresh
  run_job FAILING_KIND=open FAILING_AT="$first" FAILING_UNTIL=1000000000 FAILING_WITH=EROFS FAILING_BELOW="$scratch/job/model"
  code=$?
  [ $code = 10 ] || fail "exit $code where the model's place turns read-only: $(tail -n 1 err.txt)"
  run_job && cmp whole/model/model.safetensors job/model/model.safetensors || fail "the run after that: $(tail -n 1 err.txt)"
fi

printf '%-8s %-8s %-8s %6s %6s  %-8s  %s\n' job call error calls tried expected 'seen (exit code: times)'
for scenario in $scenarios; do
  for kind in open write sync; do
    disk $scenario $kind EIO ENOSPC EDQUOT ENOSPC+
    row $scenario $kind EINTR 0
  done
  row $scenario write short 0
  disk $scenario rename EIO ENOSPC EDQUOT
  disk $scenario reserve ENOSPC EDQUOT
  disk $scenario make EIO ENOSPC
  disk $scenario remove EIO
  [ -z "$tries" ] || { row $scenario reserve EINTR 0; row $scenario close EIO 0; }
  disk $scenario look EIO
  row $scenario look EINTR 0
done
# A job that begins anew reads no file of its directory.
[[ $scenarios == *resumed* ]] || finish
disk resumed read EIO
row resumed read EINTR 0
row resumed read short 0
finish
