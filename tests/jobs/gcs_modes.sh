#!/usr/bin/env bash
# Prepares rows and texts in gs://, trains on them and converts there. The results must equal those on the local disk.
#   gcs_modes.sh BERTH FAKE_GCS_SERVER GCS_COPY
. "$(dirname "$0")/gcs_lib.sh"

# prepare DIRECTORY FLAGS...: prepares training, evaluation and test records in DIRECTORY. If DIRECTORY is in gs://, so are the inputs.
prepare() {
  local directory=$1 data=gs://bucket/data/df.pickle model=gs://bucket/models/tiny.tar.gz
  shift
  case $directory in gs://*) ;; *) data=$sample model=model.tar.gz ;; esac
  "$berth" --mode prepare --train-data-file "$data" --predict-data-file "$data" --model "$model" \
    --export-dir "$directory" "$@" >/dev/null 2>err.txt || fail "prepare to $directory: $(tail -n 1 err.txt)"
}

# prepares NAME FLAGS...: prepares in gs:// and on the local disk, and checks that the files have the same bytes.
prepares() {
  local name=$1 file
  shift
  prepare "local-$name" "$@"
  prepare "gs://bucket/prepared/$name" "$@"
  [ -e "local-$name/meta_data.json" ] || fail "$name: meta_data.json is missing"
  for file in "local-$name"/*; do
    rm -f got
    "$copy" "gs://bucket/prepared/$name/${file##*/}" got >/dev/null || { fail "$name: no ${file##*/}"; continue; }
    cmp -s got "$file" || fail "$name: ${file##*/} differs from the local one"
  done
  echo "$name: $(ls "local-$name" | wc -l) files, same weights"
}

echo "== rows prepared in gs://"
start_fake
prepares records
prepares shards --num-shards 3 --compress gzip
prepares lines --record-format jsonl --num-shards 2
prepare gs://bucket/prepared/records
expect 5 'of another preparation' --mode prepare --train-data-file gs://bucket/data/df.pickle \
  --model gs://bucket/models/tiny.tar.gz --export-dir gs://bucket/prepared/shards --num-shards 2 --compress gzip
start_fake --random-faults 4:0.05
prepares faults --num-shards 8
"$berth" --mode convert --model model.tar.gz --export-dir graph --export-format onnx 2>err.txt || fail "to onnx: $(tail -n 1 err.txt)"
"$berth" --mode convert --model gs://bucket/models/tiny.tar.gz --export-dir gs://bucket/graph --export-format onnx 2>err.txt ||
  fail "to onnx in gs://: $(tail -n 1 err.txt)"
"$copy" gs://bucket/graph/model.onnx got >/dev/null && cmp got graph/model.onnx || fail "model.onnx differs from the local one"
for place in fetched gs://bucket/fetched; do
  "$berth" --mode fetch 'gs://bucket/data/*.pickle' gs://bucket/models/tiny.tar.gz --export-dir $place 2>err.txt ||
    fail "fetch to $place: $(tail -n 1 err.txt)"
done
"$copy" gs://bucket/fetched/model/model.safetensors got >/dev/null || fail "fetch to gs:// writes no model"
for file in got fetched/model/model.safetensors; do cmp "$repository/examples/model/model.safetensors" $file || fail "fetch: $file differs"; done
cmp "$sample" fetched/df.pickle || fail "fetch changed df.pickle"
"$berth" --train-data-file 'gs://bucket/prepared/faults/train.tf_record-*' --max-steps 2 --job-dir from-gcs \
  --eval-data-file 'gs://bucket/prepared/faults/eval.tf_record-*' --model model.tar.gz \
  --input-meta-data-path gs://bucket/prepared/faults/meta_data.json >/dev/null 2>err.txt ||
  fail "training on prepared rows: $(tail -n 1 err.txt)"

echo "== hard negatives in gs://"
start_fake --random-faults 4:0.05
{ echo anchor,positive; for i in $(seq 24); do echo "where is the river number $i,the river number $i is far"; done; } >pairs.csv
for i in $(seq 40); do echo "{\"title\": \"bread\", \"text\": \"the baker sells bread number $i\"}"; done >corpus.jsonl
for file in pairs.csv corpus.jsonl; do "$copy" $file gs://bucket/pairs/$file >/dev/null || fail "$file cannot be stored"; done
mine=(--mode mine --mine-range 2-20 --model model.tar.gz)
"$berth" "${mine[@]}" --predict-data-file pairs.csv --mine-corpus corpus.jsonl --predictions-file mined.parquet >/dev/null 2>err.txt ||
  fail "mining: $(tail -n 1 err.txt)"
"$berth" "${mine[@]}" --predict-data-file gs://bucket/pairs/pairs.csv --mine-corpus gs://bucket/pairs/corpus.jsonl \
  --predictions-file gs://bucket/pairs/mined.parquet >/dev/null 2>err.txt || fail "mining in gs://: $(tail -n 1 err.txt)"
"$copy" gs://bucket/pairs/mined.parquet got >/dev/null && cmp got mined.parquet || fail "mined.parquet differs from the local one"

echo "== text for pre-training in gs://"
start_fake
for i in $(seq 300); do
  printf 'The river number %d runs past the %s mill, and the baker sells %d loaves of bread there.\n' \
    "$i" "$([ $((i % 2)) = 0 ] && echo old || echo broad)" $((i * 7))
done >text.txt
{ echo text,label; for i in $(seq 40); do echo "the river number $i,water"; echo "bread number $i,food"; done; } >rivers.csv
for file in text.txt rivers.csv; do
  "$copy" $file gs://bucket/text/$file >/dev/null || fail "$file cannot be stored"
done
# pretrain TEXT DIRECTORY: learns a vocabulary from TEXT, prepares shards of tokens with it and trains on them, all in DIRECTORY.
# The encoder is probed on rows beside TEXT.
pretrain() {
  local tokenizer=$2/tokenizer
  "$berth" --mode train_tokenizer --tokenizer-type wordpiece --vocab-size 200 --train-data-file "$1" \
    --export-dir "$tokenizer" >/dev/null 2>err.txt || fail "vocabulary from $1: $(tail -n 1 err.txt)"
  "$berth" --mode prepare --task mlm --train-data-file "$1" --vocab-file "$tokenizer/vocab.txt" --max-seq-length 32 \
    --near-duplicate-threshold 0 --export-dir "$2/shards" >/dev/null 2>err.txt || fail "shards of $1: $(tail -n 1 err.txt)"
  "$berth" --task mlm --train-data-file "$2/shards/*.tokens" --vocab-file "$tokenizer/vocab.txt" --init random \
    --model-config config.json --max-seq-length 32 --max-steps 4 --threads 2 --job-dir "$2/job" \
    --probe "$(dirname "$1")/rivers.csv" --probe-samples 32 >/dev/null 2>err.txt ||
    fail "training on the shards of $1: $(tail -n 1 err.txt)"
}
printf '{"model_type":"bert","vocab_size":200,"hidden_size":16,"num_hidden_layers":1,"num_attention_heads":2,%s}' \
  '"intermediate_size":32,"max_position_embeddings":32,"type_vocab_size":2' >config.json
pretrain text.txt pretrained
pretrain gs://bucket/text/text.txt gs://bucket/pretrained
scores() { tr -d ' \n' <"$1" | grep -o '"step":[0-9]*,"name":"rivers","examples":[0-9]*,"loss":[0-9.]*'; }
for file in tokenizer/vocab.txt tokenizer/tokenizer.json shards/train-00000-of-00001.tokens job/model/model.safetensors; do
  rm -f got
  "$copy" "gs://bucket/pretrained/$file" got >/dev/null || { fail "pre-training in gs://: no $file"; continue; }
  cmp -s got "pretrained/$file" || fail "pre-training in gs://: $file differs from the local one"
done
"$copy" gs://bucket/pretrained/job/metrics.json got.json >/dev/null || fail "pre-training in gs://: no metrics.json"
[ "$(scores got.json)" = "$(scores pretrained/job/metrics.json)" ] && [ -n "$(scores got.json)" ] ||
  fail "pre-training in gs://: the probes find $(scores got.json)"
"$copy" gs://bucket/pretrained/job/summaries/probe/events.out.tfevents.0000000004.probe got >/dev/null ||
  fail "pre-training in gs://: the probes have no event files"
finish
