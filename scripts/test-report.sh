#!/usr/bin/env bash
# Trains small jobs of several kinds, and opens their reports in Chromium: in light and dark, on a desktop and a phone, and in print. Fails
# on an error of a script, a request, or a page that is too wide. Also fails on a serious finding of axe-core, and on hostile texts that are
# not inert. Needs PyPI (playwright, axe-playwright-python) and Chromium ($CHROMIUM, or /usr/bin/chromium: apt-get install chromium).
#
#   bash scripts/test-report.sh [DATA]
#
# The pictures are in build/reports/pictures, to be looked at. DATA is a folder of real data sets; without it, only the bundled sample and
# made texts are used.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
data=$(realpath -m "${1:-../shared/data}")

cmake --preset release >/dev/null
cmake --build --preset release --target berth
[ -x build/peers-report/bin/python ] || python3 -m venv build/peers-report
build/peers-report/bin/pip install --quiet "playwright==1.*" "axe-playwright-python==0.1.*"

rm -rf build/reports
mkdir -p build/reports
cd build/reports
berth=$root/build/release/berth
python3 "$root/tests/peers/make_report_data.py"

# job NAME FLAGS...: trains a short job.
job() {
  local name=$1
  shift
  echo "== $name"
  "$berth" --model "$root/examples/model" --batch-size 16 --job-dir "$name" "$@" >"$name.log" 2>&1 || { tail -n 1 "$name.log"; exit 1; }
}
sample=$root/examples/data/df.pickle
job classes --train-data-file "$sample" --max-steps 60 --eval-steps 20
job other-seed --train-data-file "$sample" --max-steps 60 --eval-steps 20 --seed 7
job masked --task mlm --train-data-file "$sample" --max-steps 30 --eval-steps 10
job probed --task mlm --train-data-file "$sample" --max-steps 40 --eval-steps 20 --probe "$sample,numbers:regression=numbers.csv" \
  --probe-steps 10 --probe-samples 64
job labels --task multi_label --train-data-file labels.jsonl --max-steps 60 --eval-steps 20
job two-sets --task mnli --data-dir mnli --max-steps 60 --eval-steps 20
job questions --task qa --train-data-file squad.json --max-steps 60 --eval-steps 20
job hostile --train-data-file hostile.jsonl --max-steps 20 --eval-steps 10
job numbers --task regression --train-data-file numbers.csv --max-steps 60 --eval-steps 20
if [ -d "$data/ner/wnut17" ]; then
  job entities --task ner --train-data-file "$data/ner/wnut17/wnut17train.conll" --eval-data-file "$data/ner/wnut17/emerging.dev.conll" \
    --max-steps 60 --eval-steps 30 --max-seq-length 64
else
  echo "SKIPPED: no entities at $data/ner/wnut17"
fi

# A job that is killed, stopped and resumed.
resumed=(--train-data-file "$sample" --max-steps 90 --eval-steps 30 --save-steps 10)
for signal in KILL TERM; do
  echo "== resumed: $signal"
  "$berth" --model "$root/examples/model" --batch-size 16 --job-dir resumed "${resumed[@]}" >resumed.log 2>&1 &
  pid=$!
  step=$([ $signal = KILL ] && echo 20 || echo 50)
  until [ -e resumed/checkpoints/step-000000$step/MANIFEST.json ]; do
    kill -0 $pid || { tail -n 1 resumed.log; exit 1; }
    sleep 0.1
  done
  kill -$signal $pid
  wait $pid || true
done
mkdir stopped && cp resumed/report.html stopped/
job resumed "${resumed[@]}"
mkdir compared
"$berth" --mode report classes other-seed resumed --report-file compared/report.html 2>compared.log

"$root/build/peers-report/bin/python" "$root/tests/peers/check_report.py" pictures ./*/report.html
