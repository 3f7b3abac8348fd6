#!/usr/bin/env bash
# Trains with several workers on this machine, each a process.
#   cluster.sh BERTH [SERIES] [SEED]
# SERIES is how many series of random trouble there are: a worker is killed, stopped by a signal or held up, at a moment that SEED draws.
. "$(dirname "$0")/lib.sh"
. "$repository/tests/jobs/workers_lib.sh"
series=${2:-2}
RANDOM=${3:-1}

flags=(--train-data-file "$sample" --max-steps 12 --batch-size 8 --save-steps 4 --save-total-limit 100 --eval-steps 6 --logging-steps 1 --learning-rate 1e-3
  --threads 1 --validation-split 0.05 --reduce-dtype fp32 --precision fp32 --peer-timeout 5 --rendezvous-timeout 60)

"$berth" "${flags[@]}" --job-dir alone >/dev/null 2>err.txt || fail "one worker: $(tail -n 1 err.txt)"
losses alone >alone.txt
for size in 2 3 4; do
  start $size --job-dir job$size
  end_with "$(zeros $size)" "$size workers"
  losses job$size >job$size.txt
  nearly_equal alone.txt job$size.txt || fail "$size workers learn something else"
  [ -s job$size/metrics.json ] && [ -s job$size/model/model.safetensors ] || fail "$size workers: no results"
  [ ! -e job$size/rendezvous.json ] || fail "$size workers leave rendezvous.json"
  ! grep -q 'was removed' worker*.txt || fail "$size workers miss files that only worker 0 writes"
  [ "$(grep -l '"next":' worker*.txt)" = worker0.txt ] || fail "of $size workers, others than worker 0 name the results"
done
start 2 --job-dir again
ended
cmp again/model/model.safetensors job2/model/model.safetensors || fail "two workers are not the same every time"
start 3 --job-dir job3
ended
[ "$codes" = "0 0 0" ] && grep -q 'already finished' worker2.txt || fail "workers of a finished job: $codes"
[ "$(grep -l '"next":' worker*.txt)" = worker0.txt ] || fail "of a finished job, others than worker 0 name the results"

# Two workers that share the optimizer learn the same, and turn away one that does not. Three others go on without sharing.
start_leader 2 --job-dir sharded --shard-optimizer
"$berth" "${flags[@]}" --job-dir sharded --world-size 2 --rank 1 >/dev/null 2>err.txt
[ $? = 5 ] && grep -q 'other flags' err.txt || fail "a worker that does not share: $(tail -n 1 err.txt)"
begin 1 2 --job-dir sharded --shard-optimizer
end_with '0 0' 'a shared optimizer'
losses sharded >sharded.txt
nearly_equal alone.txt sharded.txt || fail "workers that share the optimizer learn something else"
start 3 --job-dir sharded --max-steps 16
ended
[ "$codes" = "0 0 0" ] && grep -q 'resuming after update 12' worker0.txt || fail "after a shared optimizer: $codes: $(tail -qn 1 worker*.txt)"

# Through the address of worker 0, and with what launchers set.
port=$(free_port)
start 2 --job-dir by_address --master-addr 127.0.0.1 --master-port $port
end_with '0 0' 'by an address'
cmp by_address/model/model.safetensors job2/model/model.safetensors || fail "by an address: another model"
pids=()
port=$(free_port)
for rank in 0 1; do
  MASTER_ADDR=127.0.0.1 MASTER_PORT=$port WORLD_SIZE=2 RANK=$rank "$berth" "${flags[@]}" --job-dir by_environment \
    >/dev/null 2>worker$rank.txt &
  pids+=($!)
done
end_with '0 0' 'by the environment'
cmp by_environment/model/model.safetensors job2/model/model.safetensors || fail "by the environment: another model"

# On this machine, by the script.
BERTH=$berth bash "$repository/scripts/train-cluster-local.sh" 2 --max-steps 2 --job-dir by_script >/dev/null 2>err.txt ||
  fail "train-cluster-local.sh: $(tail -n 1 err.txt)"
grep -q 'worker 0 of 2' by_script.workers/0.log && grep -q 'worker 1 of 2' by_script.workers/1.log && [ -s by_script/metrics.json ] ||
  fail "train-cluster-local.sh starts something else"

# What is wrong is said, and does not hang.
expect 2 'nothing says which of them' "${flags[@]}" --job-dir wrong --world-size 2
expect 2 'numbers 0 to 1' "${flags[@]}" --job-dir wrong --world-size 2 --rank 2
expect 2 'several workers compute on all of their devices' "${flags[@]}" --job-dir wrong --world-size 2 --rank 0 --device xla-cpu --devices 2
expect 11 'worker 1 of 2 did not come within 1 s' "${flags[@]}" --job-dir wrong --world-size 2 --rank 0 --rendezvous-timeout 1
[ -e wrong/rendezvous.json ] || fail "no rendezvous.json remains of workers that did not meet"
expect 0 finished "${flags[@]}" --job-dir wrong
[ ! -e wrong/rendezvous.json ] || fail "one process leaves the rendezvous.json of workers"
expect 11 'worker 0 did not gather' "${flags[@]}" --job-dir nobody --world-size 2 --rank 1 --rendezvous-timeout 1
start_leader 2 --job-dir differs
"$berth" "${flags[@]}" --job-dir differs --world-size 3 --rank 2 >/dev/null 2>err.txt
[ $? = 5 ] && grep -q 'expects 2 workers' err.txt || fail "another number of workers: $(tail -n 1 err.txt)"
kill -TERM "${pids[0]}"
end_with 143 'a worker 0 that waits'
start_leader 2 --job-dir address
begin 1 2 --job-dir address --worker-address 192.0.2.1
end_with '11 2' 'an address of another host'
tail -n 1 worker0.txt | says 'has ended with 2: 192.0.2.1' || fail "worker 0 does not say why worker 1 has ended"

# A worker that waits while the others finish the job without it has nothing to do.
pids=()
begin 1 2 --job-dir late
until grep -qs 'waiting until worker 0' worker1.txt || ! kill -0 "${pids[0]}" 2>/dev/null; do sleep 0.02; done
expect 0 finished "${flags[@]}" --job-dir late
end_with 0 'a worker of a job that others finished'
grep -q 'finished without this worker' worker1.txt || fail "a worker of a finished job says otherwise: $(cat worker1.txt)"

# trouble KIND: starts three workers, and after a while does that to one of them.
long=(--max-steps 4000 --save-steps 20 --save-total-limit 100 --eval-steps 0 --job-dir trouble)
trouble() {
  local kind=$1 rank=$2 began
  rm -rf trouble
  start 3 "${long[@]}"
  for _ in $(seq 300); do [ -e trouble/checkpoints/step-00000020/MANIFEST.json ] && break; sleep 0.1; done
  sleep 0.$((RANDOM % 10))
  case $kind in
    kill) kill -9 "${pids[$rank]}" ;;
    term) kill -TERM "${pids[$rank]}" ;;
    hold) kill -STOP "${pids[$rank]}" ;;
  esac
  began=$SECONDS
  for other in 0 1 2; do
    [ $other = $rank ] && [ $kind != term ] && continue
    wait "${pids[$other]}"
    local code=$?
    case $kind in
      term) [ $code = 143 ] || fail "$kind $rank: worker $other ends with $code: $(tail -n 1 worker$other.txt)" ;;
      *) [ $code = 11 ] && tail -n 1 worker$other.txt | says "worker $rank " ||
           fail "$kind $rank: worker $other ends with $code: $(tail -n 1 worker$other.txt)" ;;
    esac
  done
  [ $((SECONDS - began)) -le 30 ] || fail "$kind $rank: the others took $((SECONDS - began)) s"
  kill -9 "${pids[$rank]}" 2>/dev/null
  wait "${pids[$rank]}" 2>/dev/null
  echo "$kind of worker $rank: the others ended within $((SECONDS - began + 1)) s"
}
kinds=(kill term hold)
for ((i = 0; i < series; ++i)); do
  trouble ${kinds[$((i % 3))]} $((RANDOM % 3))
done
# Then other workers go on from the last checkpoint.
step=$(cd trouble/checkpoints && ls -d step-* | tail -n 1 | sed 's/step-0*//')
start 2 "${long[@]}" --max-steps $((step + 5))
end_with '0 0' 'after the trouble'
grep -q 'resuming after update' worker0.txt || fail "does not resume"

# Two of three may go on without the third one, from the last checkpoint.
rm -rf trouble
start 3 "${long[@]}" --elastic 2:3 --peer-timeout 2 --max-steps 400
for _ in $(seq 300); do [ -e trouble/checkpoints/step-00000020/MANIFEST.json ] && break; sleep 0.1; done
kill -9 "${pids[1]}"
ended
[ "$codes" = "0 137 0" ] || fail "elastic: $codes: $(tail -qn 1 worker0.txt worker2.txt)"
grep -q 'going on without it' worker0.txt && grep -q 'beginning without worker 1 of 3' worker0.txt &&
  grep -q 'resuming after update' worker0.txt || fail "elastic: worker 0 says other things: $(tail -n 5 worker0.txt)"
[ -s trouble/metrics.json ] || fail "elastic: no results"
finish
