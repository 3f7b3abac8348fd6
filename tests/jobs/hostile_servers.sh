#!/usr/bin/env bash
# Reads data and models from servers that lie. Each job must end soon, with one sentence and the right exit code, and no secret may be in
# anything that was written, at the log level debug too.
#   hostile_servers.sh BERTH
. "$(dirname "$0")/lib.sh"
unset HF_HUB_OFFLINE STORAGE_EMULATOR_HOST GOOGLE_APPLICATION_CREDENTIALS

# 256 MiB of zeros in an archive.
mkdir inside written
head -c 268435456 /dev/zero >inside/config.json
tar -C inside -czf bomb.tar.gz config.json
rm -r inside

/usr/bin/python3 "$repository/tests/jobs/hostile_server.py" port other_port seen.txt &
server_pid=$!
trap 'kill $server_pid; rm -rf "$scratch"' EXIT
until [ -e port ]; do kill -0 $server_pid || { fail "the server does not start"; finish; }; sleep 0.02; done
server=127.0.0.1:$(cat port)

secrets=(QuerySecret11 UserSecret22 hf_HubSecret33 RedirectedSecret77)
export HF_ENDPOINT=http://$server HF_TOKEN=${secrets[2]} STORAGE_EMULATOR_HOST=$server
http=http://reader:${secrets[1]}@$server query="sig=${secrets[0]}"
count=0

# ends CODES 'part of the sentence' FLAGS...: trains with these flags. In a second of retries each job must end with one of these codes.
ends() {
  local codes=$1 says=$2 code line
  shift 2
  count=$((count + 1))
  timeout 60 "$berth" --log-level debug --storage-retry-deadline 1 --max-steps 1 --job-dir written/job-$count --cache-dir written/cache "$@" \
    >written/$count.out 2>written/$count.err
  code=$?
  line=$(tail -n 1 written/$count.err)
  [[ " $codes " == *" $code "* ]] || fail "exit $code instead of $codes: berth $*: $line"
  [[ $line == "{\"code\":$code,"* ]] || fail "no final report: berth $*: $line"
  echo "$line" | tr -d '\\' | says -F -- "$says" || fail "does not say '$says': berth $*"
  [ "$(sed -n 's/.*"step":\([0-9]*\).*/\1/p' <<<"$line")" = 0 ] || fail "has trained: berth $*"
}

model=(--train-data-file "$sample" --model)

# Data by http.
ends 10 'no answer' --train-data-file "$http/less/data.csv?$query"
ends 3 'line 2' --train-data-file "$http/more/data.csv?$query"
ends 3 'no column' --train-data-file "$http/portal/data.csv?$query"
ends 3 'is not a pickle' --train-data-file "$http/portal/data.pickle?$query"
ends 4 'refuses it' --train-data-file "$http/away/data.csv?$query"
ends 4 'refuses it' --train-data-file "$http/away-with-user/data.csv?$query"
ends 4 'redirects' --train-data-file "$http/circle/data.csv?$query"
ends 4 'refuses it' --train-data-file "$http/echo/data.csv?$query"
# Where the address is right, a job trains, and where it is wrong, no mode shows what is secret in it.
timeout 60 "$berth" --train-data-file "$http/guarded/data.csv?$query" --model "$tiny" --max-steps 1 --job-dir written/guarded --log-level debug \
  >written/guarded.out 2>written/guarded.err || fail "data behind a signature and a password: $(tail -n 1 written/guarded.err)"
wrong=(inspect tokenize "--train-data-file $http/none/a.csv?$query" "--train-data-file $sample --vocab-file $http/none/vocab.txt?$query"
  "--train-data-file ftp://${http#http://}/a.csv?$query" "--train-data-file http:/${http#http://}/a.csv?$query"
  "--train-data-file https//${http#http://}/a.csv?$query")
for flags in "${wrong[@]}"; do
  case $flags in
    inspect) words=(--mode inspect "$http/none/a.csv?$query") ;;
    tokenize) words=(--mode tokenize --model "$tiny" --input "$http/none/a.txt?$query") ;;
    *) words=($flags --job-dir written/wrong) ;;
  esac
  count=$((count + 1))
  timeout 60 "$berth" "${words[@]}" >written/$count.out 2>written/$count.err
  code=$?
  [[ $code = 2 || $code = 4 ]] || fail "exit $code: berth ${words[*]}: $(tail -n 1 written/$count.err)"
done
# A model by http.
ends 3 'is not gzip' "${model[@]}" "$http/portal/model.tar.gz?$query"
ends 3 'times its size' "${model[@]}" "$http/bomb/model.tar.gz?$query"
ends 10 'no answer' "${model[@]}" "$http/less/model.tar.gz?$query"
# Objects of Cloud Storage.
for object in data.csv 'data/*.csv'; do
  ends 10 'does not describe an object' --train-data-file "gs://portal/$object"
  ends 10 '' --train-data-file "gs://more/$object"
  for bucket in less garbage; do ends 10 'no answer' --train-data-file "gs://$bucket/$object"; done
  ends 10 'more than 64.0 MiB' --train-data-file "gs://without-end/$object"
  for bucket in pages repeated; do ends 10 'comes back to a page' --train-data-file "gs://$bucket/$object"; done
done
ends 3 'refuses the request' --train-data-file gs://away/data.csv
ends 4 'not permitted' --train-data-file gs://echo/data.csv
# A model of the hub.
for name in portal more; do ends 3 'is not JSON' "${model[@]}" hf://$name/model; done
ends 3 'larger than 64.0 MiB' "${model[@]}" hf://without-end/model
ends 10 'no answer' "${model[@]}" hf://less/model
for name in away away-with-user echo; do ends 4 'refuses' "${model[@]}" hf://$name/model; done
ends '3 4 10' 'redirect' "${model[@]}" hf://circle/model

# The other server got the requests that were sent there, without the credentials that the first one got.
[ -s seen.txt ] || fail "no redirect was followed"
for secret in "${secrets[@]:0:3}" "$(printf 'reader:%s' "${secrets[1]}" | base64)"; do
  ! grep -F -- "$secret" seen.txt || fail "$secret went to another server"
done
for secret in "${secrets[@]}"; do
  ! grep -rF -- "$secret" written "$HF_HOME" 2>/dev/null || fail "$secret was written"
done
finish
