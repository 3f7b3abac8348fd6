#!/usr/bin/env bash
# Makes jobs longer that are finished or were stopped, and checks that they end like jobs that were that long from the beginning.
#   longer.sh BERTH
. "$(dirname "$0")/lib.sh"

# With a constant rate the length of the schedule changes nothing, so the bits must be equal. 42 rows in batches of 8 end an epoch with
# a smaller batch.
flags=(--train-data-file "$sample" --max-train-samples 42 --validation-split 0 --mode train --batch-size 8 --learning-rate 1e-3
  --lr-scheduler-type constant --save-steps 4)
same() { cmp -s "$1/model/model.safetensors" "$2/model/model.safetensors" || fail "$1 and $2 ended differently"; }

expect 0 finished "${flags[@]}" --epochs 3 --job-dir straight
expect 0 finished "${flags[@]}" --epochs 1 --job-dir epochs
! cmp -s epochs/model/model.safetensors straight/model/model.safetensors || fail "one epoch ends like three"
expect 0 finished "${flags[@]}" --epochs 3 --job-dir epochs
grep -q 'another length now: 18 updates, of which 6 are done' err.txt || fail "does not say the new length"
same epochs straight
check_report epochs/report.html 18
expect 0 finished "${flags[@]}" --epochs 3 --job-dir epochs
grep -q 'already finished' err.txt || fail "does not know that the longer job is finished"
grep -q '"epochs": "3"' epochs/job.json || fail "job.json has the old length"
expect 0 finished "${flags[@]}" --epochs 1 --max-steps 18 --job-dir epochs  # the same number, said in another way
same epochs straight

# The same with kills, and for a job that was killed before it was finished.
expect 0 finished "${flags[@]}" --max-steps 5 --job-dir killed
survives_kills killed "${flags[@]}" --max-steps 18
same killed straight

# A job is not made shorter than it is.
expect 5 'has made 18 updates, and the command now has 9' "${flags[@]}" --max-steps 9 --job-dir killed
expect 0 finished "${flags[@]}" --max-steps 18 --job-dir killed
grep -q 'already finished' err.txt || fail "a refused length has changed the job"
expect 5 '--seed was "42" and is now "7"' "${flags[@]}" --max-steps 30 --seed 7 --job-dir killed
expect 5 '--model JOB_DIR/model' "${flags[@]}" --max-steps 30 --seed 7 --job-dir killed

# The rows may lie elsewhere if they are the same bytes. A finished job does not read them, so it cannot know.
expect 0 finished "${flags[@]}" --max-steps 9 --job-dir moved
cp "$sample" elsewhere.pickle
expect 5 'and is now "elsewhere.pickle"' "${flags[@]}" --train-data-file elsewhere.pickle --max-steps 9 --job-dir moved
expect 0 finished "${flags[@]}" --train-data-file elsewhere.pickle --max-steps 18 --job-dir moved
same moved straight
printf 'text,label\none,a\ntwo,b\n' >elsewhere.csv
expect 5 'other contents' "${flags[@]}" --train-data-file elsewhere.csv --max-steps 20 --job-dir moved

# Without checkpoints there is nothing to go on from.
rm -r killed/checkpoints
expect 4 'cannot become longer' "${flags[@]}" --max-steps 30 --job-dir killed
[ -s killed/model/model.safetensors ] || fail "the refused job lost its model"

# A schedule that falls is made longer.
expect 0 finished --train-data-file "$sample" --max-steps 4 --batch-size 8 --logging-steps 1 --job-dir falls
expect 0 finished --train-data-file "$sample" --max-steps 8 --batch-size 8 --logging-steps 1 --job-dir falls
rates=$(grep -o '"learning_rate":[0-9.e-]*' err.txt | wc -l)
[ "$rates" = 4 ] || fail "made $rates updates instead of 4"
grep -q '"steps": 8' falls/metrics.json || fail "metrics.json does not tell 8 updates"

# The results of a job whose job.json and checkpoints were removed do not say that the next job is finished.
rm -r falls/job.json falls/checkpoints
"$berth" --train-data-file "$sample" --max-steps 100000 --batch-size 8 --seed 7 --job-dir falls >/dev/null 2>err.txt &
pid=$!
until [ -e falls/job.json ] || ! kill -0 $pid 2>/dev/null; do sleep 0.02; done
kill -KILL $pid
wait $pid 2>/dev/null
[ -e falls/job.json ] && [ ! -e falls/metrics.json ] || fail "a job that was killed is finished: $(ls falls; tail -n 1 err.txt)"

finish
