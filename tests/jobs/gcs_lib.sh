# The jobs in gs:// source this file. It starts our fake server with the inputs, and runs jobs with all of their files there.
#   SCRIPT BERTH FAKE_GCS_SERVER GCS_COPY
server=$2 copy=$3
. "$(dirname "$0")/lib.sh"
unset STORAGE_EMULATOR_HOST GOOGLE_APPLICATION_CREDENTIALS

inputs=(--train-data-file gs://bucket/data/df.pickle --model gs://bucket/models/tiny.tar.gz)
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

put_inputs() {
  "$copy" "$sample" gs://bucket/data/df.pickle >/dev/null || fail "the data cannot be stored"
  "$copy" model.tar.gz gs://bucket/models/tiny.tar.gz >/dev/null || fail "the model cannot be stored"
}

# run JOB MORE_FLAGS...: runs the job with all of its files in gs://. Its log is err.txt.
run() {
  local job=$1
  shift
  "$berth" "${inputs[@]}" "${flags[@]}" --job-dir "gs://bucket/jobs/$job" "$@" >/dev/null 2>err.txt
}

tar -C "$repository/examples" -czf model.tar.gz model

# same JOB FILES...: checks that these files of the job equal those of the local run in local/.
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
