#!/usr/bin/env bash
# Runs whole jobs with all of their files in gs://. With the emulator from PyPI the outputs must equal those of a local run. With
# our own fake server the job is killed during uploads, meets faults and loses its storage.
#   gcs.sh BERTH FAKE_GCS_SERVER GCS_COPY
server=$2 copy=$3
. "$(dirname "$0")/lib.sh"
unset STORAGE_EMULATOR_HOST GOOGLE_APPLICATION_CREDENTIALS

flags=(--max-steps 24 --batch-size 8 --save-steps 6 --eval-steps 8 --learning-rate 1e-3 --save-total-limit 2
  --threads 2 --validation-split 0.05)
server_pid=

stop_server() {
  [ -z "$server_pid" ] || { kill "$server_pid" 2>/dev/null; wait "$server_pid" 2>/dev/null; }
  server_pid=
}
trap 'stop_server; rm -rf "$scratch"' EXIT

# start_fake FLAGS...: starts our fake server on a free port and stores the inputs in it.
start_fake() {
  stop_server
  rm -f port
  "$server" --port-file port --bucket bucket "$@" &
  server_pid=$!
  until [ -e port ]; do
    kill -0 $server_pid || { fail "the fake does not start"; finish; }
    sleep 0.02
  done
  export STORAGE_EMULATOR_HOST=127.0.0.1:$(cat port)
  put_inputs
}

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

put_inputs() {
  "$copy" "$sample" gs://bucket/data/df.pickle >/dev/null || fail "the data cannot be stored"
  "$copy" model.tar.gz gs://bucket/models/tiny.tar.gz >/dev/null || fail "the model cannot be stored"
}

# run JOB MORE_FLAGS...: runs the job with all of its files in gs://.
run() {
  local job=$1
  shift
  "$berth" --train-data-file gs://bucket/data/df.pickle --model gs://bucket/models/tiny.tar.gz "${flags[@]}" \
    --job-dir "gs://bucket/jobs/$job" "$@" >/dev/null 2>err.txt
}

# same JOB FILES...: checks that these files of the job equal those of the local run.
same() {
  local job=$1 name
  shift
  for name; do
    rm -f got
    "$copy" "gs://bucket/jobs/$job/$name" got >/dev/null || { fail "$job: $name is missing"; continue; }
    cmp -s got "local/$name" || fail "$job: $name differs from the local run's"
  done
}

results=(model/config.json model/model.safetensors model/vocab.txt model/tokenizer_config.json model/README.md
  checkpoints/best.json checkpoints/step-00000024/model.safetensors checkpoints/step-00000024/optimizer.safetensors
  checkpoints/step-00000024/state.json checkpoints/step-00000024/MANIFEST.json)

tar -C "$repository/examples" -czf model.tar.gz model
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

echo "== killed while it uploads"
for attempt in 1 2 3; do
  start_fake --connection-mbps 25
  kills=0
  for delay in 0.$((attempt * 2)) 0.9 1.$((attempt * 2)) 1.7; do
    run killed &
    pid=$!
    sleep "$delay"
    pkill -9 -P $pid 2>/dev/null && kills=$((kills + 1))
    wait $pid 2>/dev/null
  done
  run killed || fail "after $kills kills: $(tail -n 1 err.txt)"
  same killed "${results[@]}"
  echo "attempt $attempt: $kills kills, same weights"
done

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

echo "== two jobs at the same moment in one directory"
start_fake
# start_one N: starts a long job in the background; its log is one-N.txt.
start_one() {
  "$berth" --train-data-file gs://bucket/data/df.pickle --model gs://bucket/models/tiny.tar.gz "${flags[@]}" \
    --max-steps 100000 --job-dir gs://bucket/jobs/both >/dev/null 2>one-$1.txt &
  pids[$1]=$!
}
pids=()
start_one 1
start_one 2
wait -n "${pids[@]}"
code=$?
for n in 1 2; do kill -0 "${pids[n]}" 2>/dev/null && left=$n; done
[ $code = 6 ] || fail "one of two jobs ends with $code: $(tail -n 1 one-1.txt) $(tail -n 1 one-2.txt)"
grep -q 'holds the lease' one-$((3 - left)).txt || fail "the job that leaves does not say why: $(tail -n 1 one-$((3 - left)).txt)"
# The other one is suspended until a third one has taken its lease. It then leaves without writing anything.
kill -STOP "${pids[left]}"
start_one 3
for _ in $(seq 600); do
  grep -q 'took over the lease' one-3.txt && break
  sleep 0.1
done
grep -q 'took over the lease' one-3.txt || fail "the lease of a suspended job is not taken: $(tail -n 1 one-3.txt)"
kill -CONT "${pids[left]}"
for _ in $(seq 300); do kill -0 "${pids[left]}" 2>/dev/null || break; sleep 0.1; done
kill -KILL "${pids[left]}" 2>/dev/null
wait "${pids[left]}"
[ $? = 6 ] || fail "a job that was suspended ends otherwise: $(tail -n 1 one-$left.txt)"
# A job that is stopped before it trains leaves its lease to expire.
for _ in $(seq 600); do grep -q '"event":"step"' one-3.txt && break; sleep 0.1; done
kill -TERM "${pids[3]}"
wait "${pids[3]}"
[ $? = 143 ] || fail "the job that took the lease over: $(tail -n 1 one-3.txt)"
"$copy" gs://bucket/jobs/both/lease.json got >/dev/null 2>&1 && fail "the lease was not given back"

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
"$berth" --train-data-file 'gs://bucket/prepared/faults/train.tf_record-*' --max-steps 2 --job-dir from-gcs \
  --eval-data-file 'gs://bucket/prepared/faults/eval.tf_record-*' --model model.tar.gz \
  --input-meta-data-path gs://bucket/prepared/faults/meta_data.json >/dev/null 2>err.txt ||
  fail "training on prepared rows: $(tail -n 1 err.txt)"

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

echo "== faults of every kind"
for seed in 1 2 3; do
  start_fake --random-faults $seed:0.05
  run faults --log-level debug || fail "seed $seed: $(tail -n 1 err.txt)"
  same faults "${results[@]}"
  grep -qiE 'upload_id|Bearer' err.txt && fail "seed $seed: the log contains a secret"
  echo "seed $seed: $(grep -c 'attempt [0-9]* failed' err.txt) failures, same weights"
done

echo "== storage that goes away"
start_fake
run gone --max-steps 400 --save-steps 40 --storage-retry-deadline 1 &
pid=$!
for _ in $(seq 400); do
  "$copy" gs://bucket/jobs/gone/checkpoints/step-00000040/MANIFEST.json got >/dev/null 2>&1 && break
  sleep 0.02
done
stop_server
wait $pid
[ $? = 10 ] || fail "storage gone: $(tail -n 1 err.txt)"
grep -q '"step":400' err.txt || fail "training did not go on without its storage: $(tail -n 1 err.txt)"
grep -q 'was not saved' err.txt || fail "no warning about the checkpoints"

echo "== typos are found at once"
start_fake
begin=$SECONDS
expect 4 'df.pickel' --train-data-file gs://bucket/data/df.pickel --job-dir gs://bucket/jobs/typo
expect 4 'did you mean' --train-data-file gs://bucket/data/df.pickel --job-dir gs://bucket/jobs/typo
expect 4 'no such bucket' --train-data-file gs://buckets/data/df.pickle --job-dir gs://bucket/jobs/typo
expect 4 'no such bucket' --train-data-file gs://bucket/data/df.pickle --job-dir gs://buckets/jobs/typo
expect 4 'models/tiny' --train-data-file gs://bucket/data/df.pickle --model gs://bucket/models/tiny --job-dir gs://bucket/jobs/typo
expect 4 'export-dir gs://buckets' --mode convert --model model.tar.gz --export-dir gs://buckets/model
expect 4 'export-dir gs://buckets' --mode export_only --model model.tar.gz --export-dir gs://buckets/model
expect 2 'can only be read' --train-data-file gs://bucket/data/df.pickle --job-dir http://127.0.0.1:1/jobs
[ $((SECONDS - begin)) -le 12 ] || fail "eight typos took $((SECONDS - begin)) s"

echo "== stopped while it waits for storage"
stop_server
begin=$SECONDS
run waiting &
pid=$!
sleep 1
pkill -TERM -P $pid
wait $pid
[ $? = 143 ] || fail "stopped while it waits: $(tail -n 1 err.txt)"
[ $((SECONDS - begin)) -le 5 ] || fail "the job stopped only after $((SECONDS - begin)) s"
finish
