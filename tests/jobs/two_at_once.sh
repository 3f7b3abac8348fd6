#!/usr/bin/env bash
# Starts two jobs at the same moment that write to the same directory. One of them must train and end with the bits of a job that was
# alone, and the other must end with 6 and without an update. Where one writes its model into the model/ of the other, both may end with 6.
#   two_at_once.sh BERTH FAKE_GCS_SERVER GCS_COPY [TIMES] [SEED]
# TIMES says how often each pair is started. SEED draws by how many milliseconds the second job is late.
. "$(dirname "$0")/gcs_lib.sh"
times=${4:-1}
RANDOM=${5:-1}

sed 's/"hidden_size": *[0-9]*/"hidden_size": 32/; s/"intermediate_size": *[0-9]*/"intermediate_size": 64/' "$tiny/config.json" >small.json
flags=(--train-data-file "$sample" --init random --model "$tiny" --model-config small.json --max-steps 200 --batch-size 8
  --save-steps 100 --eval-steps 200 --learning-rate 1e-3 --threads 1 --max-train-samples 200 --validation-split 0.05)

# start NAME FLAG...: starts a job in the background. Its log is NAME.txt.
start() {
  local name=$1
  shift
  "$berth" "${flags[@]}" "$@" >/dev/null 2>"$name.txt" &
}

# model_in DIRECTORY: the checksum of the job's model.
model_in() { "$copy" "$1/model/model.safetensors" "$2" >/dev/null && sha256sum <"$2"; }

# pair DIRECTORY SHARED LATE_MS: starts two jobs and prints what is wrong, or nothing. They share the whole job directory ("job"), only
# the directory of the checkpoints ("checkpoints"), the directory of a job that was killed just before ("killed"), or only the model/ of
# the first one, to which the second one exports ("model"). Returns 1 if one had ended before the other began, which tests nothing.
pair() {
  local directory=$1 shared=$2 late_ms=$3 name first second pid_first pid_second codes stays leaves
  name=$(echo "$directory" | tr -c 'a-z0-9\n' -)
  first=(--job-dir "$directory") second=(--job-dir "$directory")
  if [ "$shared" = killed ]; then
    start "$name-killed" "${first[@]}"
    until grep -qs '"event":"step"' "$name-killed.txt" || ! kill -0 $!; do sleep 0.02; done
    kill -KILL $!
    wait $! 2>/dev/null
  elif [ "$shared" = checkpoints ]; then
    first=(--job-dir "$directory-first" --checkpoint-dir "$directory")
    second=(--job-dir "$directory-second" --checkpoint-dir "$directory")
  elif [ "$shared" = model ]; then
    second=(--job-dir "$directory-second" --export-dir "$directory/model")
  fi
  start "$name-first" "${first[@]}"
  pid_first=$!
  sleep "0.0$(printf %02d "$late_ms")"
  start "$name-second" "${second[@]}"
  pid_second=$!
  wait $pid_first
  codes=$?
  wait $pid_second
  codes=$codes,$?
  case $codes in
    0,6) stays=first leaves=second directory=${first[1]} ;;
    6,0)
      stays=second leaves=first
      [ "$shared" = model ] || directory=${second[1]} ;;
    6,6)
      if [ "$shared" = model ]; then
        cat "$name"-*.txt | grep '"event":"step"' | sed "s/^/$name: both leave, and one has trained: /"
        return 0
      fi ;;&
    0,0) grep -q '"event":"step"' "$name-first.txt" && grep -q '"event":"step"' "$name-second.txt" || return 1 ;;&
    *)
      echo "$name, $late_ms ms late: they end with $codes: $(tail -qn 1 "$name-first.txt" "$name-second.txt")"
      return 0 ;;
  esac
  ! grep -q '"event":"step"' "$name-$leaves.txt" || echo "$name: the job that leaves has trained"
  grep -q '"event":"step"' "$name-$stays.txt" || echo "$name: the job that stays has not trained"
  [ "$(model_in "$directory" "$name.safetensors")" = "$expected" ] || echo "$name: another model"
  [[ $directory == gs:* ]] || rm -rf "$1" "$1"-first "$1"-second
  rm -f "$name".* "$name"-*.txt
}

# overlapping_pair DIRECTORY SHARED LATE_MS: starts pairs until one is there whose jobs ran at the same time.
overlapping_pair() {
  local again
  for again in $(seq 20); do pair "$1-$again" "$2" "$3" && return; done
  echo "$1: none of $again pairs ran at the same time"
}

# pairs WHERE SHARED AT_ONCE: starts TIMES pairs, so many at once, and prints a line of the table and what is wrong.
pairs() (
  where=$1 shared=$2 at_once=$3 results=$(mktemp -d results.XXXXXX)
  for n in $(seq "$times"); do
    overlapping_pair "$where/$shared-$n" "$shared" $((RANDOM % 50)) >"$results/$n" &
    [ $((n % at_once)) != 0 ] || wait
  done
  wait
  printf '%-18s %-12s %6d  %-14s %6d %6d\n' "$where" "$shared" "$times" "$([ $shared = model ] && echo '0,6 or 6,6' || echo 'one 0, one 6')" \
    "$(find "$results" -type f -empty | wc -l)" "$(find "$results" -type f -size +0 | wc -l)"
  cat "$results"/*
)

"$berth" "${flags[@]}" --job-dir alone >/dev/null 2>err.txt || fail "the job alone: $(tail -n 1 err.txt)"
expected=$(model_in alone alone.safetensors)
# In gs:// the job that leaves first waits until it has seen the other one renew its lease, for at most 8 s. Slow storage makes the jobs
# last so long, and they hardly compute meanwhile.
start_fake --latency-ms 300
printf '%-18s %-12s %6s  %-14s %6s %6s\n' where shared times expected seen other
remote=()
for shared in job checkpoints killed model; do
  pairs gs://bucket/jobs $shared 10 >$shared.remote &
  remote+=($!)
done
for shared in job checkpoints killed model; do pairs jobs $shared 1; done | tee local.txt
wait "${remote[@]}"
cat ./*.remote
[ "$(cat local.txt ./*.remote | wc -l)" = 8 ] || fail "a pair ended otherwise"
finish
