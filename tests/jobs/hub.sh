#!/usr/bin/env bash
# Runs jobs whose model is a name of the Hugging Face hub. The cache holds it, and there is no network.
#   hub.sh BERTH
tests=$(cd "$(dirname "$0")/.." && pwd)
. "$(dirname "$0")/lib.sh"

# The cache as huggingface_hub lays it out.
commit=0123456789abcdef0123456789abcdef01234567
repository=$HF_HOME/hub/models--org--tiny
mkdir -p $repository/{refs,blobs,snapshots/$commit}
printf %s $commit >$repository/refs/main
for file in "$tiny"/*; do
  blob=$(sha256sum "$file" | cut -d ' ' -f 1)
  cp "$file" $repository/blobs/$blob
  ln -s ../../blobs/$blob $repository/snapshots/$commit/$(basename "$file")
done

train=(--train-data-file "$sample" --max-steps 2 --batch-size 4)
expect 0 finished "${train[@]}" --job-dir named --model org/tiny
grep -q 'hf://org/tiny@main/model.safetensors' named/job.json || fail "job.json does not name the model's file"
expect 0 finished "${train[@]}" --job-dir folder --model "$tiny"
cmp -s named/model/model.safetensors folder/model/model.safetensors || fail "the hub's model and the same folder train differently"
expect 0 finished "${train[@]}" --job-dir pinned --model hf://org/tiny@$commit
expect 0 'all work is done' "${train[@]}" --job-dir named --model org/tiny
expect 0 finished --mode predict --predict-data-file "$sample" --job-dir named --model org/tiny
expect 0 finished --mode tokenize --text 'a ball' --model org/tiny
expect 0 finished --mode convert --model org/tiny --export-dir converted
cmp -s converted/vocab.txt "$tiny/vocab.txt" || fail "convert wrote another vocabulary"

# A data set: the split test is the one to predict.
set=$HF_HOME/hub/datasets--org--three
mkdir -p $set/refs $set/snapshots/$commit/data
printf %s $commit >$set/refs/main
tar xf "$tests/testdata/parquet.tar" -O datasets.parquet >$set/snapshots/$commit/data/test-00000-of-00001.parquet
expect 0 finished --mode predict --predict-data-file hf://datasets/org/three --job-dir named --predictions-file -
[ "$(wc -l <out.txt)" = 4 ] || fail "did not predict the three rows of the split test"

# A folder of that name comes first, and a path with a spelling mistake is not looked for on the hub.
mkdir -p org
cp -r "$tiny" org/tiny
expect 0 finished "${train[@]}" --job-dir local --model org/tiny
! grep -q 'hf://' local/job.json || fail "a local folder does not come before the hub"
expect 4 'did you mean' "${train[@]}" --job-dir none --model org/tin
rm -r org

# A job's own folder is no name of the hub, also where the hub has a model of that name.
cp -a $repository $HF_HOME/hub/models--runs--model
expect 0 finished --mode embed --predict-data-file "$sample" --model runs/model --predictions-file named.npy
mkdir runs
for mode in 'embed --predict-data-file' 'predict --predict-data-file' 'eval --eval-data-file'; do
  expect 4 'runs' --mode $mode "$sample" --job-dir runs
  ! grep -q 'hf://\|pooling' err.txt || fail "asks the hub for the model of a job: $(cat err.txt)"
done
expect 4 'there is no job.json' --mode export_only --job-dir runs --export-dir exported
[ -z "$(ls -A runs)" ] && [ ! -e exported ] || fail "wrote something for a job that is not there: $(ls -A runs exported)"

expect 4 'no such folder here' "${train[@]}" --job-dir none --model org/other
expect 4 'hf download org/other' "${train[@]}" --job-dir none --model org/other
expect 4 'HF_HUB_OFFLINE' "${train[@]}" --job-dir none --model hf://org/other
expect 2 'repository of such a name' "${train[@]}" --job-dir none --model hf://org/a--b
expect 2 'can only be read' "${train[@]}" --job-dir hf://org/tiny/job --model org/tiny
[ ! -e none ] || fail "a job that could not begin left its directory"

finish
