#!/usr/bin/env bash
# Trains masked language models with the program, from random parameters and from a model, and resumes them after kills.
#   mlm.sh BERTH
. "$(dirname "$0")/lib.sh"

for i in $(seq 60); do
  printf '{"text": "The %s river runs past number %d, and the unbelievable baker sells bread there in the morning."}\n' \
    "$([ $((i % 2)) = 0 ] && echo old || echo broad)" "$i"
done >texts.jsonl
flags=(--task mlm --train-data-file texts.jsonl --model "$tiny" --init random --batch-size 8 --max-steps 20 --save-steps 4
  --eval-steps 10 --learning-rate 1e-3 --warmup-steps 5 --max-seq-length 32 --validation-split 0.2 --threads 2 --whole-word-masking)

expect 0 finished "${flags[@]}" --job-dir whole
for metric in loss perplexity masked_accuracy; do
  grep -q "\"$metric\"" whole/metrics.json || fail "no $metric in metrics.json"
done
grep -q '"BertForMaskedLM"' whole/model/config.json || fail "config.json does not name BertForMaskedLM"
for tensor in bert.embeddings.word_embeddings.weight cls.predictions.bias cls.predictions.transform.dense.weight; do
  grep -qaF "\"$tensor\"" whole/model/model.safetensors || fail "the exported model has no $tensor"
done

# Killed at any moment and started again, the job ends with the same bits.
survives_kills killed "${flags[@]}"
cmp -s whole/model/model.safetensors killed/model/model.safetensors || fail "the weights differ after kills"

# A decoder that is not tied is written with both names of its bias, as transformers 5 writes it.
sed '0,/{/s//{"tie_word_embeddings": false,/' "$tiny/config.json" >untied.json
expect 0 finished "${flags[@]}" --max-steps 2 --model-config untied.json --job-dir untied
for tensor in cls.predictions.decoder.weight cls.predictions.decoder.bias cls.predictions.bias; do
  grep -qaF "\"$tensor\"" untied/model/model.safetensors || fail "the exported model has no $tensor"
done
expect 0 finished --mode eval --eval-data-file texts.jsonl --job-dir untied --max-seq-length 32

# Evaluation has the same masks whatever the seed.
expect 0 finished --mode eval --eval-data-file texts.jsonl --job-dir whole --max-seq-length 32
grep perplexity out.txt >first.txt
expect 0 finished --mode eval --eval-data-file texts.jsonl --job-dir whole --max-seq-length 32 --seed 7
[ "$(grep perplexity out.txt)" = "$(cat first.txt)" ] || fail "the masks of evaluation depend on the seed"

# A model goes on where it was, with LAMB, and is then fine-tuned for another task.
expect 0 finished --task mlm --train-data-file texts.jsonl --model whole/model --batch-size 8 --max-steps 4 --max-seq-length 32 \
  --optimizer lamb --job-dir adapted
expect 0 finished --train-data-file "$sample" --model adapted/model --max-steps 2 --job-dir tuned
expect 0 finished --task mlm --train-data-file texts.jsonl --max-steps 2 --job-dir bundled  # a model without this head
expect 2 'nothing to predict' --mode predict --predict-data-file texts.jsonl --job-dir whole

finish
