#!/usr/bin/env bash
# Pre-trains ELECTRAs with the program: a generator and a discriminator together, resumed after kills, evaluated, continued and
# fine-tuned.
#   electra.sh BERTH
. "$(dirname "$0")/lib.sh"

for i in $(seq 60); do
  printf '{"text": "The %s river runs past number %d, and the unbelievable baker sells bread there in the morning."}\n' \
    "$([ $((i % 2)) = 0 ] && echo old || echo broad)" "$i"
done >texts.jsonl
sed 's/"model_type": "bert"/"model_type": "electra", "embedding_size": 64/; s/BertModel/ElectraModel/' "$tiny/config.json" >electra.json
small=(--task electra --train-data-file texts.jsonl --init random --model-config electra.json --vocab-file "$tiny/vocab.txt"
  --max-seq-length 32 --threads 2)
flags=("${small[@]}" --batch-size 8 --max-steps 20 --save-steps 4 --eval-steps 10 --learning-rate 1e-3 --warmup-steps 5
  --validation-split 0.2 --whole-word-masking --mlm-probability 0.25 --discriminator-weight 20)

expect 0 finished "${flags[@]}" --job-dir whole
for metric in loss perplexity masked_accuracy disc_loss disc_accuracy disc_auc disc_precision disc_recall majority_rate; do
  grep -q "\"$metric\"" whole/metrics.json || fail "no $metric in metrics.json"
done
grep -q '"ElectraForPreTraining"' whole/model/config.json || fail "config.json does not name ElectraForPreTraining"
grep -q 'id2label' whole/model/config.json && fail "a discriminator has no labels"
grep -q '"ElectraForMaskedLM"' whole/model/generator/config.json || fail "the generator's config.json does not name its class"
grep -q '"hidden_size": 32' whole/model/generator/config.json || fail "the generator is not a quarter as wide"
grep -qaF 'discriminator_predictions.dense_prediction.weight' whole/model/model.safetensors || fail "the discriminator has no head"
grep -qaF '"generator' whole/model/model.safetensors && fail "the generator is among the discriminator's tensors"
for tensor in electra.embeddings.word_embeddings.weight electra.embeddings_project.weight generator_lm_head.bias; do
  grep -qaF "\"$tensor\"" whole/model/generator/model.safetensors || fail "the exported generator has no $tensor"
done
[ -e whole/model/generator/vocab.txt ] || fail "the generator has no tokenizer"

# Killed at any moment and started again, the job ends with the same bits.
survives_kills killed "${flags[@]}"
for model in model model/generator; do
  cmp -s whole/$model/model.safetensors killed/$model/model.safetensors || fail "the weights of $model differ after kills"
done

# Evaluation masks and weighs as the job did, unless it is told otherwise.
scores() { expect 0 finished --mode eval --eval-data-file texts.jsonl --job-dir whole --threads 2 "$@"; }
loss() { grep '"loss"' out.txt; }
scores
taken=$(loss)
scores --max-seq-length 32 --whole-word-masking --mlm-probability 0.25 --discriminator-weight 20
[ -n "$taken" ] && [ "$(loss)" = "$taken" ] || fail "--mode eval does not mask and weigh as the job did"
for other in '--mlm-probability 0.15' --no-whole-word-masking '--discriminator-weight 50'; do
  scores $other
  [ "$(loss)" = "$taken" ] && fail "$other has no effect on --mode eval"
done

# It has the same masks and draws whatever the seed. Batches of another size round otherwise, and change no more than that.
scores
grep -E 'disc_accuracy|perplexity' out.txt >first.txt
[ -s first.txt ] || fail "--mode eval tells no accuracy"
scores --seed 7
[ "$(grep -E 'disc_accuracy|perplexity' out.txt)" = "$(cat first.txt)" ] || fail "evaluation depends on the seed"
scores --eval-batch-size 3
grep -E 'disc_accuracy|perplexity' out.txt | paste first.txt - |
  awk '{ a = $2 + 0; b = $4 + 0; if (!(a > 0 && (a - b) ^ 2 <= (1e-3 * a) ^ 2)) bad = 1 } END { exit bad }' || fail "evaluation depends on the batches"

# Both go on where they were, with LAMB and two micro-batches; the discriminator is then fine-tuned.
expect 0 finished --task electra --train-data-file texts.jsonl --model whole/model --generator whole/model/generator \
  --batch-size 8 --gradient-accumulation-steps 2 --max-steps 4 --max-seq-length 32 --optimizer lamb --job-dir adapted
expect 0 finished --train-data-file "$sample" --model adapted/model --max-steps 2 --job-dir tuned
rm -rf again
expect 0 finished --mode export_only --job-dir adapted --export-dir again --export-format onnx
cmp -s adapted/model/generator/model.safetensors again/generator/model.safetensors || fail "export_only exports another generator"
# The graph of the generator is the one that its own folder gives.
expect 0 finished --mode convert --model again/generator --export-dir generator-alone --export-format onnx
cmp -s again/generator/model.onnx generator-alone/model.onnx || fail "the graph of the generator is not that of its folder"
grep -qaF 'discriminator_predictions' again/model.onnx || fail "the graph of the discriminator has no head"
expect 0 '' "${small[@]}" --max-steps 2 --dry-run --job-dir dry

# Workers with TPUs or GPUs are refused before a plugin is loaded. xla_tasks.sh trains with one.
echo 'no library' >plugin.so
expect 2 'cannot train a generator' "${small[@]}" --device xla-cpu --pjrt-plugin "$PWD/plugin.so" --world-size 2 --rank 0 --master-addr localhost \
  --job-dir other
[ -e other ] && fail "a job that was refused left a job directory"

expect 2 'trains an electra, and the model is of model_type bert' --task electra --train-data-file texts.jsonl --model "$tiny" \
  --job-dir other
expect 2 'not adapters' --task electra --train-data-file texts.jsonl --model whole/model --lora-rank 2 --job-dir other
expect 2 'trains all parameters' "${small[@]}" --freeze-embeddings --job-dir other
expect 2 'there is no generator for masked_lm' --task mlm --train-data-file texts.jsonl --model whole/model \
  --generator whole/model/generator --job-dir other
expect 2 'the generator is a bert' --task electra --train-data-file texts.jsonl --model whole/model --generator "$tiny" \
  --job-dir other
expect 2 'makes them noise' "${small[@]}" --generator whole/model/generator --job-dir other
expect 2 'nothing to predict' --mode predict --predict-data-file texts.jsonl --job-dir whole

finish
