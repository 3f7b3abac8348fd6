#!/usr/bin/env bash
# Runs jobs on the XLA engine, through a plugin for CPUs: training, evaluation and prediction, kills, a change of the device between
# two starts, and plugins that are none. Without the plugin most of it is skipped; scripts/install-xla-plugin.sh installs it.
#   xla.sh BERTH
. "$(dirname "$0")/lib.sh"
. "$repository/tests/jobs/xla_lib.sh"
job=(--precision fp32 --train-data-file "$sample" --batch-size 4 --max-seq-length 32 --threads 2 --validation-split 0.05)

"$berth" --help >help.txt
for flag in --device --devices --pjrt-plugin --dropout-generator --distribution-strategy --tpu --num-gpus; do
  grep -q -- "^  $flag" help.txt || fail "--help does not show $flag"
done

# Devices that this machine does not have, and flags that contradict each other.
[ -e /dev/accel0 ] || [ -e /dev/vfio/0 ] || expect 2 'this machine has no TPU' "${job[@]}" --job-dir none --device tpu
[ -e /dev/nvidiactl ] || expect 2 'no NVIDIA GPU' "${job[@]}" --job-dir none --device gpu
expect 2 '--num-gpus 2 and --device tpu ask for different devices' "${job[@]}" --job-dir none --num_gpus 2 --device tpu
expect 2 'need no plugin' "${job[@]}" --job-dir none --device cpu --pjrt-plugin a.so
expect 2 'the CPU draws dropout by Philox only' "${job[@]}" --job-dir none --device cpu --dropout-generator threefry
[ ! -e none ] || fail "a job without a device left a job directory"

# Files that are no plugins.
library=$(ldd "$berth" | grep -o '/[^ ]*libz[^ ]*' | sed -n 1p)
echo 'no library' >text.so
head -c 5000 "$library" >short.so
expect 4 'there is no such file' "${job[@]}" --job-dir none $(on absent.so)
expect 2 'cannot be loaded' "${job[@]}" --job-dir none $(on "$PWD/text.so")
expect 2 'cannot be loaded' "${job[@]}" --job-dir none $(on "$PWD/short.so")
expect 2 'has no function GetPjrtApi' "${job[@]}" --job-dir none $(on "$library")

require_plugin "the XLA engine"
xla=($(on "$plugin") --cache-dir cache)

# Without --pjrt-plugin, a berth that pip installed finds a plugin beside it: in its own folder, or as another package of its environment.
mkdir -p site/berth_trainer/dist/bin site/lammps_jax_pjrt_cpu site/berth_trainer/dist/lib/berth/plugins
installed=$PWD/site/berth_trainer/dist/bin/berth
ln "$berth" "$installed" 2>/dev/null || cp "$berth" "$installed"
ln -s "$plugin" site/lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so
installed_job=("${job[@]}" --model "$repository/examples/model" --device xla-cpu --cache-dir cache --max-steps 1)
berth=$installed train wheel.log "${installed_job[@]}" --job-dir wheel
grep -q "driven by $PWD/site/lammps_jax_pjrt_cpu/" wheel.log || fail "the plugin of the same environment was not taken"
cp -r site/lammps_jax_pjrt_cpu site/berth_trainer/dist/lib/berth/plugins/
berth=$installed train own.log "${installed_job[@]}" --job-dir own
grep -q "driven by $PWD/site/berth_trainer/dist/lib/berth/plugins/" own.log || fail "the plugin beside the program was not taken"
rm -r site/berth_trainer/dist/lib
mv site/berth_trainer/dist site/berth_trainer/other  # no wheel has this folder
berth=$PWD/site/berth_trainer/other/bin/berth expect 4 'there is no PJRT plugin for a CPU' "${job[@]}" --device xla-cpu --job-dir none

short=("${job[@]}" --max-steps 24 --save-steps 3 --save-total-limit 100 --eval-steps 8 --learning-rate 1e-3 --gradient-accumulation-steps 2)
train cpu.log "${short[@]}" --job-dir cpu
train xla.log "${short[@]}" --job-dir xla "${xla[@]}"
losses cpu.log | sort >cpu.txt
losses xla.log | sort >xla.txt
same_losses "the XLA engine beside the CPU's kernels" cpu.txt xla.txt
# A plugin that computes wrong numbers on some CPUs is refused there. Elsewhere it trains as the others do.
if [ -s "$plugins/pjrt-cpu-0.81.so" ]; then
  timeout 300 "$berth" "${short[@]}" --logging-steps 1 --job-dir sometimes-wrong $(on "$plugins/pjrt-cpu-0.81.so") >/dev/null 2>other.log
  case $? in
    0) losses other.log | sort >other.txt && same_losses "a plugin that is wrong on other CPUs" cpu.txt other.txt ;;
    2) grep -q 'computes wrong numbers' other.log || fail "refused for another reason: $(tail -n 1 other.log)" ;;
    *) fail "a plugin that may be wrong: $(tail -n 1 other.log)" ;;
  esac
fi
grep -q '"kernels": "xla-cpu-fp32' xla/metrics.json || fail "metrics.json does not name the engine"
ls cache/executables/*.xla >/dev/null || fail "--cache-dir has no compiled programs"
expected=$(sha256sum <xla/model/model.safetensors)

# A job that is killed at any moment and started again on the same plugin ends with the same bits.
for attempt in 1 2 3; do
  rm -rf killed
  for wait_for in 3 9 18; do
    "$berth" "${short[@]}" "${xla[@]}" --job-dir killed >/dev/null 2>err.txt &
    pid=$!
    until [ -e "killed/checkpoints/step-000000$(printf %02d $wait_for)" ] || ! kill -0 $pid 2>/dev/null; do sleep 0.02; done
    sleep 0.0$((attempt * 13 % 10))
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
  done
  train err.txt "${short[@]}" "${xla[@]}" --job-dir killed
  [ "$(sha256sum <killed/model/model.safetensors)" = "$expected" ] || fail "the weights differ after kills (attempt $attempt)"
done

# A job may change its device: CPU, XLA, CPU. The losses go on as if it had not.
long=("${job[@]}" --max-steps 200 --save-steps 20 --save-total-limit 100 --learning-rate 1e-4)
# start_until STEP LIMIT LOG FLAG...: kills the job once the checkpoint of STEP is there, and before that of LIMIT is. A job that was
# too fast is begun anew from where it was.
start_until() {
  local checkpoint limit log=$3
  checkpoint=moved/checkpoints/step-$(printf %08d "$1")/MANIFEST.json
  limit=moved/checkpoints/step-$(printf %08d "$2")
  shift 3
  mkdir -p moved
  for _ in $(seq 50); do
    rm -rf now && cp -r moved now
    "$berth" "${long[@]}" --job-dir moved --logging-steps 1 "$@" >/dev/null 2>"$log" &
    pid=$!
    until [ -e "$checkpoint" ] || ! kill -0 $pid 2>/dev/null; do sleep 0.01; done
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
    [ -e "$limit" ] || return
    rm -rf moved && mv now moved
  done
  fail "no job could be killed before $limit: $(tail -n 1 "$log")"
}
train cpu.log "${long[@]}" --job-dir unmoved
start_until 40 120 first.log --device cpu
start_until 120 180 second.log "${xla[@]}"
train third.log "${long[@]}" --job-dir moved --device cpu
for log in second.log third.log; do
  grep -q 'the results will not be the same bit for bit' $log || fail "$log does not say that the device changed"
done
losses cpu.log | sort >cpu.txt
losses first.log second.log third.log | sort >moved.txt
same_losses "a job that changes its device" cpu.txt moved.txt

# Threefry draws other masks. A checkpoint tells who drew them.
train threefry.log "${job[@]}" --max-steps 2 --save-steps 2 --save-total-limit 100 --job-dir threefry "${xla[@]}" --dropout-generator threefry
grep -q '"kernels": *"xla-cpu-fp32, Threefry' threefry/checkpoints/step-00000002/state.json || fail "state.json does not tell of Threefry"
rm -f threefry/metrics.json
train back.log "${job[@]}" --max-steps 2 --save-steps 2 --save-total-limit 100 --job-dir threefry "${xla[@]}"
grep -q 'was computed with xla-cpu-fp32, Threefry' back.log || fail "nothing tells that the generator changed"

# Evaluation and prediction.
for device in cpu xla; do
  flags=(--device cpu --precision fp32)
  [ $device = cpu ] || flags=("${xla[@]}")
  timeout 300 "$berth" --mode eval --eval-data-file "$sample" --job-dir xla "${flags[@]}" >$device.json 2>err.txt ||
    fail "eval on $device: $(tail -n 1 err.txt)"
  timeout 300 "$berth" --mode predict --predict-data-file "$sample" --model xla/model "${flags[@]}" >$device.tsv 2>err.txt ||
    fail "predict on $device: $(tail -n 1 err.txt)"
  cut -f 1,2 $device.tsv >$device.labels
  grep -o '"accuracy": *[0-9.]*' $device.json | sed -n 1p >$device.accuracy
done
[ -s xla.accuracy ] && cmp cpu.accuracy xla.accuracy || fail "eval: $(cat cpu.json xla.json)"
[ -s xla.labels ] && [ "$(diff cpu.labels xla.labels | grep -c '^<')" -le 2 ] || fail "predict: other labels"
finish
