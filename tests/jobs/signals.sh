#!/usr/bin/env bash
# Checks that SIGTERM ends the program with 143 and the final report, wherever it is blocked or busy.
#   signals.sh BERTH
. "$(dirname "$0")/lib.sh"

# blocks_signals PID: whether SIGTERM (bit 14) waits for the program's own thread instead of ending it by the default action. The
# shell blocks it too, for a moment before the process becomes the program.
blocks_signals() {
  local mask
  [ "$(readlink "/proc/$1/exe")" = "$berth" ] || return 1
  mask=$(sed -n 's/^SigBlk:\t//p' "/proc/$1/status" 2>/dev/null)
  [ -n "$mask" ] && [ $((16#$mask >> 14 & 1)) = 1 ]
}

# stops DELAY ARGUMENTS...: starts berth, ends it by SIGTERM so many seconds after its first instructions, and looks at how it ends.
stops() {
  local delay=$1 pid code patience=200
  shift
  "$berth" "$@" <&0 >out.txt 2>err.txt &
  pid=$!
  until blocks_signals $pid || ! kill -0 $pid 2>/dev/null; do :; done
  sleep "$delay"
  kill -TERM $pid 2>/dev/null || fail "ended before the signal: berth $*: $(tail -n 1 err.txt)"
  while kill -0 $pid 2>/dev/null && [ $((patience -= 1)) -gt 0 ]; do sleep 0.1; done
  kill -KILL $pid 2>/dev/null
  wait $pid
  code=$?
  [ $code = 143 ] || fail "exit $code on SIGTERM: berth $*"
  tail -n 1 err.txt | says '^{"code":143,"reason":"stopped"' || fail "no final report: berth $*"
}

mkfifo data.csv data.pickle lines.txt tensors.safetensors

# Right at the start.
stops 0 --train-data-file data.csv --job-dir job

# While open() waits for a writer.
stops 0.4 --train-data-file data.csv --job-dir job
stops 0.4 --train-data-file "$sample" --model "$tiny" --vocab-file lines.txt --job-dir job
stops 0.4 --mode inspect tensors.safetensors
stops 0.4 --mode tokenize --model "$tiny" --input lines.txt

# While read() waits for more. This shell opens both ends, so that it need not wait itself.
exec 8<>data.pickle 9<>lines.txt
stops 0.4 --train-data-file data.pickle --job-dir job
stops 0.4 --mode tokenize --model "$tiny" --input lines.txt
stops 0.4 --mode tokenize --model "$tiny" --input - <&9

# While it works through a long input.
awk 'BEGIN { for (i = 0; i < 3000000; ++i) print "A ball, kicked" }' >many.txt
stops 0.4 --mode tokenize --model "$tiny" --input many.txt

printf '1\n%.0s' {1..1000000} | gzip >member.gz
for i in {1..2000}; do cat member.gz; done >many.csv.gz
stops 0.4 --mode inspect many.csv.gz

# A job that trains saves first, also under timeout, which sends its signal to the process and to its group.
timeout 600 "$berth" --train-data-file "$sample" --max-steps 100000 --batch-size 4 --save-steps 2 --save-total-limit 100 --threads 1 --job-dir job >/dev/null 2>err.txt &
pid=$!
until [ -e job/checkpoints/step-00000002/MANIFEST.json ] || ! kill -0 $pid 2>/dev/null; do sleep 0.02; done
# Its heartbeat tells that it lives, to people and to a liveness probe, until it has ended.
"$berth" --mode heartbeat --job-dir job >out.txt 2>alive.txt || fail "a living job: $(tail -n 1 alive.txt)"
grep -qE '^(building|training|evaluating|saving), [0-9]+ of 100000 updates, [0-9]+ s ago$' out.txt || fail "the living job is: $(cat out.txt)"
kill -TERM $pid
wait $pid
"$berth" --mode heartbeat --job-dir job >/dev/null 2>ended.txt
[ $? = 12 ] && grep -q 'does not run here (ended' ended.txt || fail "a stopped job: $(tail -n 1 ended.txt)"
grep -q '"attempt":1,"phase":"ended"' job/heartbeat.json || fail "heartbeat.json of a stopped job: $(cat job/heartbeat.json)"
tail -n 1 err.txt | says '"code":143,.*stopped by a signal after step' || fail "training under timeout"
step=$(sed -n 's/.*stopped by a signal after step \([0-9]*\) of.*/\1/p' err.txt | tail -n 1)
[ -e "job/checkpoints/step-$(printf %08d "$step")/MANIFEST.json" ] || fail "the checkpoint of step $step is not there: $(ls job/checkpoints)"
# Behind its last checkpoint, a job has nothing to save. Here it waits for a server that does not answer; the next start goes on.
python3 -c '
import socket, sys, time
server = socket.socket()
server.bind(("127.0.0.1", 0))
server.listen()
print(server.getsockname()[1], flush=True)
time.sleep(300)' >port &
server_pid=$!
until [ -s port ]; do sleep 0.02; done
late=(--train-data-file "$sample" --max-steps 2 --batch-size 4 --threads 1 --job-dir late)
MLFLOW_TRACKING_URI=http://127.0.0.1:$(cat port) "$berth" "${late[@]}" >/dev/null 2>err.txt &
pid=$!
until [ -e late/model/config.json ] || ! kill -0 $pid 2>/dev/null; do sleep 0.02; done
begin=$SECONDS
kill -TERM $pid
wait $pid
code=$?
[ $code = 143 ] && [ $((SECONDS - begin)) -le 3 ] || fail "exit $code, $((SECONDS - begin)) s after SIGTERM behind the last checkpoint"
[ ! -e late/metrics.json ] || fail "a job that was stopped before its end is finished"
kill $server_pid
wait $server_pid 2>/dev/null
expect 0 finished "${late[@]}"
[ -s late/metrics.json ] || fail "a job that was stopped behind its last checkpoint does not end"
# A pipe that somebody puts in the place of a file of the job stops nothing.
for name in job.json heartbeat.json report.html metrics.json "checkpoints/step-$(printf %08d "$step")/MANIFEST.json" \
  "checkpoints/step-$(printf %08d "$step")/state.json" model/model.safetensors; do
  rm -rf piped && cp -r job piped && mkdir -p piped/model && rm -f "piped/$name" && mkfifo "piped/$name"
  for mode in train_and_eval predict heartbeat; do
    timeout 60 "$berth" --mode $mode --train-data-file "$sample" --predict-data-file "$sample" --max-steps 2 --batch-size 4 --threads 1 \
      --job-dir piped >/dev/null 2>err.txt
    [ $? != 124 ] || fail "--mode $mode hangs at the pipe $name"
  done
done
expect 4 'there is no heartbeat' --mode heartbeat --job-dir absent
# A training whose updates take longer than it permits ends, and says what each thread was doing.
expect 12 'gave no sign of life' --train-data-file "$sample" --job-dir hung --batch-size 1000 --max-steps 5 --threads 1 \
  --step-timeout 1
grep -q '^thread [0-9]* (' err.txt && grep -q '+0x[0-9a-f]*)' err.txt || fail "no stacks: $(cat err.txt)"

finish
