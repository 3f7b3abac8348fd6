#!/usr/bin/env bash
# Runs jobs on disks that are too small: the model must be there at the end, or the job refuse before it trains.
#   full_disk.sh BERTH
. "$(dirname "$0")/lib.sh"

# The volume of the manifests holds BERT-base and BERT-large, as its comment says, without giving up a checkpoint.
volume=$(sed -n 's/.*requests: {storage: \([0-9]*\)Gi}.*/\1/p' "$repository/k8s/volume/volume.yaml")
for shape in 'base 768 12 12 3072' 'large 1024 24 16 4096'; do
  read -r name hidden layers heads intermediate <<<"$shape"
  cat >bert.json <<JSON
{"model_type": "bert", "architectures": ["BertModel"], "vocab_size": 30522, "hidden_size": $hidden, "num_hidden_layers": $layers,
 "num_attention_heads": $heads, "intermediate_size": $intermediate, "max_position_embeddings": 512, "type_vocab_size": 2}
JSON
  # A machine without memory for the model says 14 after it has printed the plan.
  "$berth" --train-data-file "$sample" --model-config bert.json --vocab-file "$tiny/vocab.txt" --init random --save-steps 50 --job-dir planned \
    --dry-run --log-format json >plan.json 2>err.txt
  most=$(grep -o '"most_bytes": *[0-9]*' plan.json | grep -o '[0-9]*$')
  [ -n "$most" ] && [ "$most" -lt $((volume << 30)) ] || fail "BERT-$name writes $most bytes, and k8s/volume has $volume GiB: $(tail -n 1 err.txt)"
done

if [ "$(id -u)" != 0 ] || ! mkdir mount || ! mount -t tmpfs -o size=1m none mount 2>/dev/null; then
  echo "SKIPPED: small disks (mounting one takes root)"
  exit 0
fi
umount mount

flags=(--train-data-file "$sample" --max-train-samples 60 --max-seq-length 32 --max-steps 12 --batch-size 8 --learning-rate 1e-3
  --save-steps 2 --eval-steps 4 --threads 2)

# disk BYTES: mounts an empty disk of this size at `mount`.
disk() {
  umount mount 2>/dev/null
  mount -t tmpfs -o "size=$(($1))" none mount
}
complete() { find "$1" -name MANIFEST.json | wc -l; }
same() { cmp -s "$1/model/model.safetensors" "$2/model/model.safetensors" || fail "$1 and $2 ended with other models"; }

# What the dry run says of the disk.
"$berth" "${flags[@]}" --job-dir planned --dry-run --log-format json 2>/dev/null >plan.json || fail "the dry run: exit $?"
value() { grep -o "\"$1\": *[0-9]*" plan.json | sed -n 1p | grep -o '[0-9]*$'; }
checkpoint=$(value checkpoint_bytes) model=$(value model_bytes)
[ "$(value most_checkpoints)" = 4 ] || fail "the dry run counts $(value most_checkpoints) checkpoints"
"$berth" "${flags[@]}" --job-dir planned --dry-run 2>/dev/null | says 'checkpoints *at most 4 at once'
[ ! -e planned ] || fail "a dry run has made a directory"

# Without a limit of the disk: the two newest checkpoints and the best one stay.
expect 0 finished "${flags[@]}" --job-dir straight
says 'disk: a checkpoint takes .* at most 4 checkpoints at once' <err.txt || fail "the log does not tell the disk"
kept=$(complete straight)
[ "$kept" = 2 ] || [ "$kept" = 3 ] || fail "keeps $kept checkpoints"
written=$(du -sb straight/checkpoints/step-00000012 | cut -f 1)
[ $((written - checkpoint)) -lt 65536 ] || fail "a checkpoint takes $written bytes, and the plan says $checkpoint"
expect 0 finished "${flags[@]}" --save-total-limit 0 --job-dir all
[ "$(complete all)" = 6 ] || fail "--save-total-limit 0 keeps $(complete all) checkpoints of 6"

# Disks too small for three checkpoints: older ones make room, and the model has the same bits. A kill changes nothing.
for size in $((checkpoint * 5 / 2)) $((checkpoint * 22 / 10)) $((checkpoint * 2 + 1500000)); do
  disk $size
  expect 0 finished "${flags[@]}" --job-dir mount/job
  same straight mount/job
  grep -q 'to make room for' err.txt || fail "a disk of $size bytes: says nothing of the checkpoint that it removes"
  [ "$(complete mount/job)" -ge 1 ] || fail "a disk of $size bytes: no checkpoint is left"
  [ -z "$(find mount -name '*.part')" ] || fail "a disk of $size bytes: leaves $(find mount -name '*.part')"
done
disk $((checkpoint * 5 / 2))
survives_kills mount/job "${flags[@]}"
same straight mount/job

# The best checkpoint stays where it becomes the model.
expect 0 finished "${flags[@]}" --load-best-model-at-end --job-dir best
disk $((checkpoint * 5 / 2))
expect 0 finished "${flags[@]}" --load-best-model-at-end --job-dir mount/job
same best mount/job

# From the least size that is accepted on, a job ends with its model. Smaller disks are refused before it trains.
for extra in -400000 -100000 -4096 0 4096 100000 400000 800000; do
  disk $((checkpoint * 2 + extra))
  timeout 60 "$berth" "${flags[@]}" --job-dir mount/job >out.txt 2>err.txt
  code=$?
  case $code in
    0) same straight mount/job ;;
    2)
      tail -n 1 err.txt | tr -d '\\' | says 'the job needs at least .*, and the file system holds' || fail "$extra: another refusal"
      [ -z "$(find mount -type f)" ] || fail "$extra: a refused job has written $(find mount -type f)"
      ;;
    *) fail "a disk of two checkpoints and $extra bytes: exit $code: $(tail -n 1 err.txt)" ;;
  esac
done
disk $((model / 2))
expect 2 'the job needs at least' "${flags[@]}" --job-dir mount/job
expect 2 'the job needs at least' "${flags[@]}" --job-dir mount/job --dry-run
disk $((checkpoint + model / 2))
expect 2 'the job needs at least' "${flags[@]}" --save-steps 0 --eval-steps 12 --job-dir mount/job
disk $((checkpoint + model + 1500000))
expect 0 finished "${flags[@]}" --save-steps 0 --eval-steps 12 --job-dir mount/job

# Who asks for all checkpoints gets all or none.
disk $((checkpoint * 4))
expect 2 'leave --save-total-limit 0 out' "${flags[@]}" --save-total-limit 0 --job-dir mount/job

# A disk that others have filled may have space later, so the job is started again.
disk $((checkpoint * 4))
head -c $((checkpoint * 3)) /dev/zero >mount/other
expect 10 'are free' "${flags[@]}" --job-dir mount/job
rm mount/other
expect 0 finished "${flags[@]}" --job-dir mount/job
same straight mount/job

# A job that kept all goes on so, and makes room where it must: a job of an earlier version on a disk that is full by now.
expect 0 finished "${flags[@]}" --max-steps 8 --save-total-limit 0 --job-dir before
expect 0 finished "${flags[@]}" --max-steps 12 --job-dir before
grep -q 'save-total-limit 0, because the job began with it' err.txt || fail "does not say that it keeps all checkpoints"
[ "$(complete before)" = 6 ] || fail "a job that kept all has $(complete before) checkpoints of 6"
expect 0 finished "${flags[@]}" --max-steps 8 --save-total-limit 0 --job-dir before2
disk $((checkpoint * 5 + model))
cp -r before2 mount/job
rm -r mount/job/metrics.json
expect 0 finished "${flags[@]}" --job-dir mount/job
grep -q 'to make room for' err.txt || fail "a full disk: says nothing of the checkpoint that it removes"

# Only what lies on the full disk can make room.
disk $((model / 2 + 1000000))
expect 2 'mount/model' "${flags[@]}" --job-dir elsewhere --export-dir mount/model
[ ! -e elsewhere ] || [ -z "$(find elsewhere -name MANIFEST.json)" ] || fail "has trained before it refused"

# Seeds: the finished ones make room for the next.
disk $((checkpoint * 7 / 2 + 2 * model))
expect 0 finished "${flags[@]}" --seeds 2 --job-dir mount/seeds
for seed in 42 43; do
  [ -s mount/seeds/seed-$seed/model/model.safetensors ] || fail "seed $seed has no model"
  [ "$(complete mount/seeds/seed-$seed)" -ge 1 ] || fail "seed $seed has no checkpoint"
done
disk $((checkpoint * 2 + model))
expect 2 'the job needs at least' "${flags[@]}" --seeds 3 --job-dir mount/seeds

# What a killed save left is as large as a checkpoint, and goes.
umount mount
expect 0 finished "${flags[@]}" --max-steps 4 --job-dir killed
mkdir killed/checkpoints/step-00000003
echo left >killed/checkpoints/step-00000003/.optimizer.safetensors.abcdef.part
expect 0 finished "${flags[@]}" --max-steps 12 --job-dir killed
[ ! -e killed/checkpoints/step-00000003 ] || fail "what a killed save left is still there"
finish
