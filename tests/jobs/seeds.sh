#!/usr/bin/env bash
# Tests --seeds: each seed has its own complete job directory, and a finished seed is not trained again.
#   seeds.sh BERTH
. "$(dirname "$0")/lib.sh"

flags=(--train-data-file "$sample" --max-steps 4 --batch-size 4 --learning-rate 1e-3 --validation-split 0.2)
"$berth" "${flags[@]}" --job-dir job --seed 7 --seeds 2 >/dev/null 2>err.txt || fail "training: $(tail -n 1 err.txt)"
"$berth" "${flags[@]}" --job-dir alone --seed 8 >/dev/null 2>&1 || fail "one seed alone"
cmp -s alone/model/model.safetensors job/seed-8/model/model.safetensors || fail "seed 8 has other weights than when it is trained alone"
cmp -s job/seed-7/model/model.safetensors job/seed-8/model/model.safetensors && fail "both seeds have the same weights"
for seed in 7 8; do
  for file in job.json metrics.json model/config.json checkpoints/step-00000004/MANIFEST.json; do
    [ -s "job/seed-$seed/$file" ] || fail "no seed-$seed/$file"
  done
  ls job/seed-$seed/summaries/train/events.out.tfevents.* >/dev/null || fail "no summaries of seed $seed"
done
[ "$(ls job/seed-7/summaries/train | wc -l)" = "$(ls job/seed-8/summaries/train | wc -l)" ] ||
  fail "the second seed's summaries are in the first one's directory"
grep -q '"std"' job/metrics.json || fail "no standard deviation"
grep -q 'accuracy over 2 seeds: mean' err.txt || fail "does not say the mean"

# A restarted job trains only the seeds that are missing.
cp job/metrics.json before.json
rm -rf job/seed-8 job/metrics.json
"$berth" "${flags[@]}" --job-dir job --seed 7 --seeds 2 --log-format text >/dev/null 2>err.txt || fail "again: $(tail -n 1 err.txt)"
grep -q 'already finished: job/seed-7' err.txt || fail "does not skip a finished seed"
cmp -s job/metrics.json before.json || fail "the metrics differ after a resume"

# A dry run describes the job of one seed.
expect 0 'finished' "${flags[@]}" --job-dir job --seed 7 --seeds 2 --dry-run
grep -q 'parameters' out.txt || fail "no dry run of several seeds"

# Contradictory requests are refused.
expect 5 '--learning-rate' "${flags[@]}" --job-dir job --seed 7 --seeds 2 --learning-rate 2e-3
expect 5 'of one seed' "${flags[@]}" --job-dir alone --seeds 2
expect 5 'of several seeds' "${flags[@]}" --job-dir job
CLOUD_ML_TRIAL_ID=1 expect 2 'one run for each trial' "${flags[@]}" --job-dir other --seeds 2
finish
