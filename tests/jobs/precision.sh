#!/usr/bin/env bash
# Checks what --precision auto, the default, becomes: on this CPU, on one with fewer instructions, in a job that moves between the two, and
# with several workers.
#   precision.sh BERTH
# On a CPU without bf16 everything is in fp32, and the cases hold as well.
. "$(dirname "$0")/lib.sh"
. "$repository/tests/jobs/workers_lib.sh"

# What the job that these tests start computes in, and what the log says of it.
best=fp32 says='fp32, because this CPU does not multiply bf16'
if [ -z "${BERTH_INSTRUCTION_SET:-}" ] && grep -qw avx512_bf16 /proc/cpuinfo; then
  best=bf16 says='bf16, because this CPU multiplies it'
fi
avx2=(--instruction-set avx2)
flags=(--train-data-file "$sample" --max-steps 12 --batch-size 8 --save-steps 4 --save-total-limit 100 --logging-steps 1 --learning-rate 1e-3 --threads 1
  --validation-split 0.05)
echo "this CPU: $best"

computed_in() { python3 -c "import json, sys; print(json.load(open(sys.argv[1]))['precision'])" "$1"; }
begun_in() { python3 -c "import json, sys; print(json.load(open(sys.argv[1]))['settings']['precision'])" "$1/job.json"; }

# ends_in PRECISION JOB FLAG...: runs the job to its end, and checks what it computed in last.
ends_in() {
  local wanted=$1 job=$2
  shift 2
  expect 0 finished "${flags[@]}" --job-dir "$job" "$@"
  [ "$(computed_in "$job/metrics.json")" = "$wanted" ] || fail "$job: computed in $(computed_in "$job/metrics.json"), and not in $wanted"
}

# The default.
ends_in $best job
[ "$(begun_in job)" = auto ] || fail "job.json does not say auto: $(begun_in job)"
grep -q "precision: matrix products use $says" err.txt || fail "the log does not say why: $(grep precision err.txt)"
grep -q "\"kernels\":\"cpu-$best" err.txt || fail "the line of the start does not name the kernels"
ends_in fp32 lower "${avx2[@]}"
[ "$(begun_in lower)" = auto ] || fail "job.json does not say auto on AVX2: $(begun_in lower)"
grep -q 'precision: matrix products use fp32, because this CPU does not multiply bf16' err.txt || fail "AVX2 does not say why"
BERTH_INSTRUCTION_SET=avx2 ends_in fp32 by_variable
cmp -s lower/model/model.safetensors by_variable/model/model.safetensors || fail "the variable is another CPU than the flag"
if grep -qw avx2 /proc/cpuinfo; then
  BERTH_INSTRUCTION_SET=baseline "$berth" "${flags[@]}" "${avx2[@]}" --job-dir dry --dry-run >out.txt 2>err.txt
  grep -q '^kernels  *cpu-fp32-avx2' out.txt || fail "the flag does not outrank the variable: $(grep kernels out.txt)"
fi
expect 2 'there is no instruction set "mmx"' "${flags[@]}" --job-dir wrong --instruction-set mmx
expect 2 'no instructions for products of bf16' "${flags[@]}" --job-dir wrong --precision bf16 "${avx2[@]}"
ends_in fp32 fp32 --precision fp32
! grep -q 'precision:' err.txt || fail "a precision that was named is explained: $(grep precision: err.txt)"

# A job moves from this CPU to one with AVX2 and back, and is killed in between. AMX hands over to AVX512_BF16 first, where there is one.
kill_after() {  # kill_after STEP FLAG...: starts the job and kills it once it has saved that update
  hold moved "checkpoints/step-0000000$1/MANIFEST.json" model/config.json "${flags[@]}" --max-steps 2000 "${@:2}"
  kill -KILL "$pid"
  wait "$pid" 2>/dev/null
}
resumes() {  # resumes STEPS PRECISION FLAG...: goes on to that length, which must end well
  local wanted=$2
  expect 0 finished "${flags[@]}" --job-dir moved --max-steps "$1" "${@:3}"
  grep -q 'resuming after update' err.txt || fail "the job begins anew in $wanted"
  [ "$(computed_in moved/metrics.json)" = "$wanted" ] || fail "moved: computed in $(computed_in moved/metrics.json), and not in $wanted"
  [ "$(begun_in moved)" = auto ] || fail "job.json of a moved job says $(begun_in moved)"
}
warns() {  # warns PRECISION: the log tells that the precision changed, if it did
  [ $best = fp32 ] || grep -q "not be the same bit for bit. From here on, matrix products use $1" err.txt ||
    fail "does not warn of $1: $(grep -h 'was computed with' err.txt)"
}
kill_after 4
steps=$(find moved/checkpoints -name MANIFEST.json | sed 's/.*step-0*\([0-9]*\).*/\1/' | sort -n | tail -n 1)
resumes $((steps + 4)) fp32 "${avx2[@]}"
warns fp32
resumes $((steps + 8)) $best --instruction-set "${BERTH_INSTRUCTION_SET:-avx512}"
warns bf16
resumes $((steps + 12)) $best
[ $best = fp32 ] || ! grep -q 'From here on' err.txt || fail "warns of a precision that stayed"
kill_after 4 "${avx2[@]}"
steps=$(find moved/checkpoints -name MANIFEST.json | sed 's/.*step-0*\([0-9]*\).*/\1/' | sort -n | tail -n 1)
resumes $((steps + 4)) $best
warns bf16

# What job.json says decides where no flag names a precision; a flag that differs is refused.
expect 5 '--precision was "auto" and is now "fp32"' "${flags[@]}" --job-dir job --precision fp32
expect 5 '--precision was "fp32" and is now "auto"' "${flags[@]}" --job-dir fp32 --precision auto
expect 5 '--precision was "fp32" and is now "bf16"' "${flags[@]}" --job-dir fp32 --precision bf16
"$berth" "${flags[@]}" --job-dir old --precision fp32 --max-steps 8 >/dev/null 2>err.txt || fail "eight updates: $(tail -n 1 err.txt)"
"$berth" "${flags[@]}" --job-dir whole --precision fp32 --max-steps 8 >/dev/null 2>err.txt || fail "eight updates: $(tail -n 1 err.txt)"
expect 0 finished "${flags[@]}" --job-dir whole --precision fp32
ends_in fp32 old
grep -q 'precision: fp32, because the job began with it' err.txt || fail "does not say that job.json decides: $(grep precision err.txt)"
cmp -s old/model/model.safetensors whole/model/model.safetensors || fail "without the flag, a job in fp32 goes on otherwise"
expect 0 finished "${flags[@]}" --job-dir old
grep -q 'already finished' err.txt || fail "a finished job in fp32 trains again"
if [ $best = bf16 ]; then
  "$berth" "${flags[@]}" --job-dir old_bf16 --precision bf16 --max-steps 8 >/dev/null 2>err.txt || fail "in bf16: $(tail -n 1 err.txt)"
  ends_in bf16 old_bf16
  [ "$(begun_in old_bf16)" = bf16 ] || fail "job.json of a job in bf16 says $(begun_in old_bf16)"
  ends_in bf16 old_bf16_longer --precision bf16
  expect 2 'no instructions for products of bf16' "${flags[@]}" --job-dir old_bf16_longer --max-steps 16 "${avx2[@]}"
fi
# Before there was the flag, job.json did not name it.
cp -r old older
rm -r older/checkpoints older/metrics.json older/model
python3 - <<'PYTHON'
import json
job = json.load(open("older/job.json"))
del job["settings"]["precision"]
json.dump(job, open("older/job.json", "w"))
PYTHON
ends_in fp32 older
expect 5 '--precision was "" and is now "auto"' "${flags[@]}" --job-dir older --precision auto
echo '{}' >older/job.json
expect 5 'not a job.json of berth' "${flags[@]}" --job-dir older

# Seeds of one sweep have one precision.
sweep=("${flags[@]}" --max-steps 2 --save-steps 0 --seed 7)
"$berth" "${sweep[@]}" --job-dir sweep/seed-8 --seed 8 --precision fp32 >/dev/null 2>err.txt || fail "seed 8: $(tail -n 1 err.txt)"
expect 0 finished "${sweep[@]}" --job-dir sweep --seeds 2
for seed in 7 8; do
  [ "$(computed_in sweep/seed-$seed/metrics.json)" = fp32 ] || fail "seed $seed computes in another precision than the sweep"
done
expect 0 finished "${sweep[@]}" --job-dir new_sweep --seeds 2
[ "$(computed_in new_sweep/seed-7/metrics.json) $(computed_in new_sweep/seed-8/metrics.json)" = "$best $best" ] || fail "a sweep is not in $best"

# Evaluation and prediction take the default, too. Vectors stay in fp32 unless a flag says otherwise.
head -n 40 "$repository/examples/topics/food.txt" | sed 's/["\\]/\\&/g; s/.*/{"text": "&"}/' >texts.jsonl
run() {  # run OUTPUT FLAG...: a mode that must end well
  local output=$1
  shift
  "$berth" "$@" >"$output" 2>err.txt || fail "$*: $(tail -n 1 err.txt)"
}
evaluates=(--mode eval --eval-data-file "$sample" --job-dir job --threads 1)
predicts=(--mode predict --predict-data-file texts.jsonl --job-dir job --predictions-file - --threads 1)
embeds=(--mode embed --predict-data-file texts.jsonl --model "$tiny" --embeddings-format jsonl --threads 1)
run eval.json "${evaluates[@]}"
[ "$(computed_in eval.json)" = $best ] || fail "--mode eval is not in $best"
run eval.json "${evaluates[@]}" "${avx2[@]}"
[ "$(computed_in eval.json)" = fp32 ] || fail "--mode eval on AVX2 is not in fp32"
run fp32.tsv "${predicts[@]}" --precision fp32
run default.tsv "${predicts[@]}"
grep -q "precision: matrix products use $says" err.txt || fail "predict does not say why: $(grep precision err.txt)"
run fp32.vectors "${embeds[@]}" --precision fp32
run default.vectors "${embeds[@]}"
! grep -q 'precision:' err.txt || fail "embed explains a precision: $(grep precision: err.txt)"
run auto.vectors "${embeds[@]}" --precision auto
cmp -s fp32.vectors default.vectors || fail "--mode embed is not in fp32 by default"
if [ $best = bf16 ]; then
  ! cmp -s fp32.tsv default.tsv || fail "--mode predict is in fp32 by default"
  ! cmp -s fp32.vectors auto.vectors || fail "--mode embed does not heed --precision auto"
else
  cmp -s fp32.tsv default.tsv && cmp -s fp32.vectors auto.vectors || fail "auto is not fp32 here"
fi

# --dry-run says what it would compute with, and that of a job which began in fp32.
run dry.txt "${flags[@]}" --job-dir dry --dry-run
grep -q "^kernels  *cpu-$best" dry.txt || fail "--dry-run is not in $best: $(grep kernels dry.txt)"
run dry.txt "${flags[@]}" --job-dir old --max-steps 16 --dry-run
grep -q '^kernels  *cpu-fp32' dry.txt || fail "--dry-run of a job in fp32: $(grep kernels dry.txt)"

# Probes compute in the job's precision.
cat "$repository"/examples/corpus/*.txt >corpus.txt
for precision in auto fp32; do
  expect 0 finished --task mlm --train-data-file corpus.txt --job-dir probed_$precision --probe "$sample" --probe-samples 40 --max-steps 2 \
    --batch-size 4 --threads 1 --validation-split 0.05 --precision $precision
  grep -q '"event":"probe"' err.txt || fail "no probe with --precision $precision: $(tail -n 3 err.txt)"
done

# A teacher computes in the job's precision, too. Its outputs lie in the job directory until the end.
sed 's/"num_hidden_layers": 2/"num_hidden_layers": 1/' "$tiny/config.json" >student.json
for precision in auto fp32; do
  hold taught_$precision checkpoints/step-00000004/MANIFEST.json model/config.json --task mlm --teacher "$tiny" --init random \
    --model-config student.json --vocab-file "$tiny/vocab.txt" --train-data-file corpus.txt --max-train-samples 200 --max-steps 4000 \
    --save-steps 4 --save-total-limit 100 --threads 1 --validation-split 0.05 --precision $precision
  kill -KILL "$pid"
  wait "$pid" 2>/dev/null
  # The values behind the header of each file.
  python3 - taught_$precision/teacher <<'PYTHON' >taught_$precision.txt || fail "no outputs of a teacher"
import pathlib, sys
files = sorted(pathlib.Path(sys.argv[1]).glob("*.safetensors"))
assert files
for file in files:
    bytes_ = file.read_bytes()
    print(bytes_[8 + int.from_bytes(bytes_[:8], "little"):].hex())
PYTHON
done
if [ $best = bf16 ]; then
  ! cmp -s taught_auto.txt taught_fp32.txt || fail "a teacher does not heed --precision fp32"
else
  cmp -s taught_auto.txt taught_fp32.txt || fail "a teacher does not compute in fp32"
fi

# Workers: bf16 only if all of them multiply it. They find out whenever they meet.
workers=("${flags[@]}")
together() {  # together PRECISION JOB FLAGS-OF-WORKER-1 FLAG...: two workers, and what the job computed in last
  local wanted=$1 job=$2 own=$3
  shift 3
  flags=("${workers[@]}" --peer-timeout 5 --rendezvous-timeout 60 --job-dir "$job" "$@")
  pids=()
  begin 0 2
  # shellcheck disable=SC2086
  begin 1 2 $own
  end_with '0 0' "$job"
  flags=("${workers[@]}")
  [ "$(computed_in "$job/metrics.json")" = "$wanted" ] || fail "two workers: $(computed_in "$job/metrics.json") and not $wanted in $job"
}
together $best pair ''
together fp32 pair_of_fp32 "${avx2[*]}"
if [ $best = bf16 ]; then
  for rank in 0 1; do
    grep -q 'matrix products use fp32, because worker 1 does not multiply bf16' worker$rank.txt || fail "worker $rank does not say why"
  done
fi
[ "$(begun_in pair_of_fp32)" = auto ] || fail "workers without bf16 write $(begun_in pair_of_fp32)"
together $best pair_of_fp32 '' --max-steps 16
[ $best = fp32 ] || grep -q 'From here on, matrix products use bf16' worker0.txt || fail "workers that gain bf16 do not warn"
together fp32 pair_of_fp32 "${avx2[*]}" --max-steps 20
[ $best = fp32 ] || grep -q 'From here on, matrix products use fp32' worker0.txt || fail "workers that lose bf16 do not warn"
# Worker 1 cannot read the directory of a job in fp32, and goes on as worker 0 does.
port=$(free_port)
pids=()
flags+=(--peer-timeout 5 --rendezvous-timeout 60 --master-addr 127.0.0.1 --master-port "$port" --max-steps 16)
begin 0 2 --job-dir old
begin 1 2 --job-dir elsewhere
end_with '0 0' 'a job in fp32'
[ "$(computed_in old/metrics.json)" = fp32 ] || fail "workers go on with a job in fp32 in $(computed_in old/metrics.json)"
flags=("${workers[@]}" --peer-timeout 5 --rendezvous-timeout 60 --master-addr 127.0.0.1 --master-port "$(free_port)" --max-steps 20)
pids=()
begin 0 2 --job-dir old
begin 1 2 --job-dir elsewhere --precision auto
ended
# A worker ends with 11 where it hears first that the other one has ended with 5.
[[ $codes = '5 5' || $codes = '11 5' || $codes = '5 11' ]] && grep -q 'was begun with --precision fp32, and worker 1 was' worker0.txt || fail "a worker that names another precision: $codes: $(tail -qn 1 worker*.txt)"
flags=(--mode eval --eval-data-file "$sample" --job-dir job --threads 1 --peer-timeout 5 --rendezvous-timeout 60)
pids=()
begin 0 2
begin 1 2 "${avx2[@]}"
end_with '0 0' 'two workers evaluate'
[ "$(computed_in out0.txt)" = fp32 ] || fail "workers evaluate in $(computed_in out0.txt), although one lacks bf16"
finish
