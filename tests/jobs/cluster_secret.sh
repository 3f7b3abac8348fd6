#!/usr/bin/env bash
# Workers that prove by a shared secret that they belong to the job, and a second worker 0.
#   cluster_secret.sh BERTH
. "$(dirname "$0")/lib.sh"
. "$repository/tests/jobs/workers_lib.sh"

flags=(--train-data-file "$sample" --max-steps 4 --batch-size 8 --save-steps 0 --eval-steps 0 --threads 1 --validation-split 0
  --peer-timeout 5 --rendezvous-timeout 60)
secret=5ec4e7000102030405060708090a0b0c0d0e0f
other=07ec4e7000102030405060708090a0b0c0d0e0
echo $secret >secret
echo $other >other

# by_address NAME: sets `address` for workers of a new job.
by_address() { address=(--job-dir "$1" --master-addr 127.0.0.1 --master-port "$(free_port)"); }

# Without a secret, one warning.
by_address open
start 2 "${address[@]}"
end_with '0 0' 'without a secret'
[ "$(grep -c 'have no secret' worker0.txt)" = 1 ] || fail "not one warning without a secret: $(cat worker0.txt)"

# With one, by a file or by the environment. It is in no log.
by_address closed
start 2 "${address[@]}" --cluster-secret-file secret
end_with '0 0' 'with a secret'
! grep -q 'have no secret' worker0.txt || fail "a warning with a secret"
cmp closed/model/model.safetensors open/model/model.safetensors || fail "a secret changes the model"
by_address by_variable
pids=()
BERTH_CLUSTER_SECRET=$secret begin 0 2 "${address[@]}" --log-level debug
begin 1 2 "${address[@]}" --cluster-secret-file secret --log-level debug
end_with '0 0' 'with a secret in a variable'
! grep -qr $secret worker*.txt out*.txt closed by_variable || fail "the secret is in a log or in the job directory"

# Another secret, none, and one that is no secret.
by_address refusing
pids=()
begin 0 2 "${address[@]}" --cluster-secret-file secret
expect 11 'does not know the secret of this worker' "${flags[@]}" "${address[@]}" --world-size 2 --rank 1 --cluster-secret-file other \
  --rendezvous-timeout 2
expect 5 'it has a secret' "${flags[@]}" "${address[@]}" --world-size 2 --rank 1
begin 1 2 "${address[@]}" --cluster-secret-file secret
end_with '0 0' 'beside strangers'
grep -qE 'strangers? and no worker of this job' worker0.txt || fail "strangers are not counted: $(cat worker0.txt)"
by_address wrong
expect 4 'the file is absent' "${flags[@]}" "${address[@]}" --world-size 2 --rank 1 --cluster-secret-file nowhere
echo short >short
expect 2 'has 5 bytes' "${flags[@]}" "${address[@]}" --world-size 2 --rank 1 --cluster-secret-file short
BERTH_CLUSTER_SECRET=short expect 2 'has 5 bytes' "${flags[@]}" "${address[@]}" --world-size 2 --rank 1

# Through the job directory, worker 0 makes one of its own, or uses the one that it was given and does not write it down.
start_leader 2 --job-dir meeting
until [ -s meeting/rendezvous.json ] || ! kill -0 "${pids[0]}" 2>/dev/null; do sleep 0.02; done
grep -qE '"secret":"[0-9a-f]{64}"' meeting/rendezvous.json || fail "no secret in $(cat meeting/rendezvous.json)"
made=$(grep -oE '[0-9a-f]{64}' meeting/rendezvous.json)

# A second worker 0 of a job that waits, and then of one that trains, ends at once and leaves the first one alone.
cp meeting/rendezvous.json before.json
expect 6 'holds the lease' "${flags[@]}" --job-dir meeting --world-size 2 --rank 0
expect 6 'another worker 0 leads this job' --mode eval --eval-data-file "$sample" --threads 1 --job-dir meeting --world-size 2 --rank 0
cmp -s meeting/rendezvous.json before.json || fail "a second worker 0 writes rendezvous.json"
begin 1 2 --job-dir meeting
end_with '0 0' 'beside a second worker 0'
! grep -q "$made" worker*.txt || fail "the secret of rendezvous.json is in a log"
by_address training
start 2 "${address[@]}" --max-steps 100000 --save-steps 1
until [ -e training/checkpoints/step-00000001/MANIFEST.json ] || ! kill -0 "${pids[0]}" 2>/dev/null; do sleep 0.02; done
began=$SECONDS
expect 6 'holds the lease' "${flags[@]}" --max-steps 100000 --save-steps 1 --job-dir training --master-addr 127.0.0.2 --world-size 2 --rank 0
[ $((SECONDS - began)) -le 50 ] || fail "a second worker 0 took $((SECONDS - began)) s"
kill -TERM "${pids[0]}"
end_with '143 143' 'a worker 0 beside a second one'

# An address of which nobody answers any more is replaced.
start 2 --job-dir meeting_again
kill -KILL "${pids[0]}" "${pids[1]}" && ended
mkdir -p meeting_again
echo '{"host":"127.0.0.1","port":1,"attempt":"x","secret":"x"}' >meeting_again/rendezvous.json
start 2 --job-dir meeting_again
end_with '0 0' 'after an earlier worker 0'

# Workers that go on without others keep the secret.
by_address elastic
start 3 "${address[@]}" --cluster-secret-file secret --elastic 2:3 --peer-timeout 2 --max-steps 300 --save-steps 20
until [ -e elastic/checkpoints/step-00000020/MANIFEST.json ] || ! kill -0 "${pids[0]}" 2>/dev/null; do sleep 0.02; done
kill -KILL "${pids[1]}"
end_with '0 137 0' 'elastic, with a secret'
grep -q 'going on without it' worker0.txt && ! grep -q 'have no secret' worker0.txt || fail "elastic: $(tail -n 5 worker0.txt)"
finish
