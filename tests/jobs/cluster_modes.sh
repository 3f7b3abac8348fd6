#!/usr/bin/env bash
# Evaluates, predicts and embeds with several workers on this machine, each a process. The results must be those of one, to the byte.
#   cluster_modes.sh BERTH
. "$(dirname "$0")/lib.sh"
. "$repository/tests/jobs/workers_lib.sh"

flags=(--threads 1 --peer-timeout 5 --rendezvous-timeout 60)

expect 0 finished --train-data-file "$sample" --max-steps 6 --batch-size 4 --threads 1 --job-dir job
small=(--predict-data-file "$sample" --batch-size 4 --eval-batch-size 3)

# One worker's results. A batch is the same with any number of workers, and so are the bits that it computes.
expect 0 finished --mode predict "${small[@]}" --threads 1 --job-dir job
mv job/predictions.tsv alone.tsv
expect 0 finished --mode eval --eval-data-file "$sample" --eval-batch-size 3 --threads 1 --job-dir job
grep -v 'seconds\|peak_rss' out.txt >alone.json
expect 0 finished --mode embed "${small[@]}" --threads 1 --job-dir job
mv job/embeddings.npy alone.npy
parts=(--mode embed "${small[@]}" --embeddings-file-rows 5 --embeddings-type int8 --job-dir job)
expect 0 finished "${parts[@]}" --threads 1
mv job/embeddings alone

for size in 2 3; do
  start $size --mode predict "${small[@]}" --job-dir job
  end_with "$(zeros $size)" "$size workers predict"
  cmp alone.tsv job/predictions.tsv || fail "$size workers predict something else"
  start $size --mode eval --eval-data-file "$sample" --eval-batch-size 3 --job-dir job
  end_with "$(zeros $size)" "$size workers evaluate"
  grep -v 'seconds\|peak_rss' out0.txt | cmp - alone.json || fail "$size workers evaluate otherwise"
  [ ! -s out1.txt ] || fail "worker 1 writes results, too"
  start $size --mode embed "${small[@]}" --job-dir job
  end_with "$(zeros $size)" "$size workers embed"
  cmp alone.npy job/embeddings.npy || fail "$size workers embed otherwise"
  # Worker 0 tells the others which files are there already.
  cp -r alone job/embeddings
  rm job/embeddings/part-00001-*
  start $size "${parts[@]}"
  end_with "$(zeros $size)" "$size workers embed into files"
  diff -r alone job/embeddings >&2 || fail "$size workers write other files"
  rm -r job/embeddings
  [ ! -e job/rendezvous.json ] || fail "$size workers leave rendezvous.json"
  rm job/predictions.tsv job/embeddings.npy
done

# Without a job directory: by the address of worker 0, to its standard output. More workers than batches are harmless.
printf 'text\nA ball was kicked\nThe train left\n' >rows.csv
port=$(free_port)
expect 0 finished --mode predict --predict-data-file rows.csv --model job/model --threads 1
mv out.txt alone.txt
start 3 --mode predict --predict-data-file rows.csv --model job/model --master-addr 127.0.0.1 --master-port "$port"
end_with '0 0 0' 'by an address'
cmp alone.txt out0.txt || fail "by an address: other predictions: $(cat out0.txt)"
expect 2 'how the workers find worker 0' --mode predict --predict-data-file rows.csv --model job/model --world-size 2 --rank 0

# Workers that read other files or were started otherwise are refused.
printf 'text\nA ball was kicked\nThe train stopped\n' >others.csv
start_leader 2 --mode predict --predict-data-file rows.csv --job-dir job
timeout 60 "$berth" --world-size 2 --rank 1 --mode predict --predict-data-file others.csv --job-dir job >/dev/null 2>worker1.txt
code=$?  # 11 where it hears first that worker 0 has ended with 5
[[ $code = 5 || $code = 11 ]] && grep -q 'has read other files' worker1.txt || fail "other rows: $(tail -n 1 worker1.txt)"
wait "${pids[0]}"
code=$?
[[ $code = 5 || $code = 11 ]] && grep -q 'has read other files' worker0.txt || fail "worker 0 of other rows: $(tail -n 1 worker0.txt)"
[ ! -e job/predictions.tsv ] || fail "predictions of other rows are written"
start_leader 2 --mode eval --eval-data-file "$sample" --job-dir job
timeout 60 "$berth" --world-size 2 --rank 1 --mode eval --eval-data-file "$sample" --eval-batch-size 2 --job-dir job >/dev/null 2>err.txt
[ $? = 5 ] && grep -q 'other flags' err.txt || fail "another batch size: $(tail -n 1 err.txt)"
begin 1 2 --mode eval --eval-data-file "$sample" --job-dir job
end_with '0 0' 'beside one that was turned away'
finish
