#!/usr/bin/env bash
# Tests LoRA from the command line: what is trained, what is exported, and that a resumed job ends with the same bits.
#   lora.sh BERTH
. "$(dirname "$0")/lib.sh"

flags=(--train-data-file "$sample" --max-steps 6 --batch-size 4 --save-steps 2 --save-total-limit 100 --learning-rate 1e-3
  --lora-rank 2 --lora-alpha 4 --lora-dropout 0.1 --export-adapter)
"$berth" "${flags[@]}" --job-dir whole >/dev/null 2>err.txt || fail "training: $(tail -n 1 err.txt)"
grep -q 'LoRA of rank 2: [0-9]* of [0-9]* parameters learn' err.txt || fail "does not say what learns"
grep -q 'random.*lora_A' err.txt && fail "reports adapters as missing from the model"
for file in adapter_config.json adapter_model.safetensors; do
  [ -s "whole/model/adapter/$file" ] || fail "no $file"
done
grep -q '"r": 2' whole/model/adapter/adapter_config.json || fail "another rank in adapter_config.json"
grep -q '"lora_alpha": 4' whole/model/adapter/adapter_config.json || fail "another alpha"
grep -q '"lora-rank": "2"' whole/job.json || fail "job.json does not record the rank"
grep -aq lora_A whole/model/model.safetensors && fail "the exported model has adapters that are not merged"
grep -aq 'layer.0.attention.self.query.lora_A' whole/model/adapter/adapter_model.safetensors || fail "no adapters"

# The merged model predicts without its adapters. Its predictions differ from those of a fully fine-tuned model.
"$berth" --train-data-file "$sample" --max-steps 6 --batch-size 4 --job-dir plain --learning-rate 1e-3 >/dev/null 2>&1
for job in whole plain; do
  "$berth" --mode predict --predict-data-file "$sample" --job-dir $job >/dev/null 2>err.txt ||
    fail "predict with $job: $(tail -n 1 err.txt)"
done
cmp -s whole/predictions.tsv plain/predictions.tsv && fail "training adapters gives the same predictions as training the whole model"

# A job that is killed after a checkpoint and resumed ends with the same bits.
"$berth" "${flags[@]}" --job-dir job >/dev/null 2>&1 &
pid=$!
until [ -e job/checkpoints/step-00000002/MANIFEST.json ] || ! kill -0 $pid 2>/dev/null; do sleep 0.02; done
kill -9 $pid 2>/dev/null
wait $pid 2>/dev/null
"$berth" "${flags[@]}" --job-dir job >/dev/null 2>err.txt || fail "after the kill: $(tail -n 1 err.txt)"
for file in model/model.safetensors model/adapter/adapter_model.safetensors; do
  cmp -s "whole/$file" "job/$file" || fail "$file differs after a resume"
done

# --lora-target-modules: PEFT's files name the chosen dense layers, and export_only merges their adapters from a checkpoint.
more=("${flags[@]}" --lora-target-modules key,dense)
"$berth" "${more[@]}" --job-dir more >/dev/null 2>err.txt || fail "training more: $(tail -n 1 err.txt)"
tr -d ' \n' <more/model/adapter/adapter_config.json | says -F '"target_modules":["key","output.dense","intermediate.dense"]' ||
  fail "other target modules"
for name in attention.self.key attention.output.dense intermediate.dense output.dense; do
  grep -aqF "layer.0.$name.lora_A" more/model/adapter/adapter_model.safetensors || fail "the adapter of $name is missing"
done
grep -aqF query.lora_A more/model/adapter/adapter_model.safetensors && fail "there is an adapter of query, which was not asked for"
grep -aq lora_A more/model/model.safetensors && fail "adapters that are not merged"
rm -rf more/model more/metrics.json
"$berth" --mode export_only --job-dir more --export-dir more-exported >/dev/null 2>err.txt || fail "export_only of more: $(tail -n 1 err.txt)"
grep -aq lora_A more-exported/model.safetensors && fail "export_only does not merge other adapters"

# export_only exports a checkpoint as the job exports its final model.
"$berth" --mode export_only --job-dir whole --export-dir exported >/dev/null 2>err.txt || fail "export_only: $(tail -n 1 err.txt)"
step=$(sed -n 's/.*"step": *\([0-9]*\).*/\1/p' whole/checkpoints/best.json | sed -n 1p)
[ "$step" != 6 ] || cmp -s whole/model/model.safetensors exported/model.safetensors || fail "export_only exports other weights than the job"
grep -aq lora_A exported/model.safetensors && fail "export_only does not merge adapters"

expect 2 'is an adapter' --train-data-file "$sample" --job-dir other --model whole/model/adapter
expect 2 '--init random' "${flags[@]}" --job-dir other --init random
# PEFT cannot load the head that predicts masked tokens without the word embeddings.
expect 2 'the merged model is exported anyway' --task mlm --train-data-file "$sample" --job-dir other --lora-rank 2 --export-adapter
expect 2 'without --lora-rank' --train-data-file "$sample" --job-dir other --export-adapter
expect 2 'there are attention.self.query' "${flags[@]}" --lora-target-modules q_proj --job-dir other
expect 2 'without --lora-rank' --train-data-file "$sample" --job-dir other --lora-target-modules key
expect 2 'without --lora-rank' --train-data-file "$sample" --job-dir other --lora-alpha 32
expect 2 'without --lora-rank' --train-data-file "$sample" --job-dir other --lora-rank 0 --lora-dropout 0.1
expect 5 '--lora-target-modules' "${flags[@]}" --job-dir whole --lora-target-modules key
expect 5 '--lora-rank' "${flags[@]}" --job-dir whole --lora-rank 4
finish
