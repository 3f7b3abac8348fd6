#!/usr/bin/env bash
# Tests jobs with a ModernBERT: the options that its layers meet, and what the job leaves behind.
#   modernbert.sh BERTH
. "$(dirname "$0")/lib.sh"

# A small ModernBERT without parameters, with the tiny model's tokenizer.
mkdir modern
cp "$tiny"/{tokenizer_config.json,vocab.txt} modern
vocabulary=$(wc -l <modern/vocab.txt)
cat >modern/config.json <<JSON
{"model_type": "modernbert", "vocab_size": $vocabulary, "hidden_size": 16, "num_hidden_layers": 4, "num_attention_heads": 2,
 "intermediate_size": 24, "max_position_embeddings": 512, "local_attention": 8, "global_attn_every_n_layers": 3,
 "hidden_activation": "gelu", "attention_dropout": 0.1, "mlp_dropout": 0.1, "pad_token_id": 0}
JSON
flags=(--model modern --init random --train-data-file "$sample" --max-steps 6 --batch-size 4 --save-steps 2 --learning-rate 1e-3)

"$berth" "${flags[@]}" --job-dir whole >/dev/null 2>err.txt || fail "training: $(tail -n 1 err.txt)"
grep -q '"model_type": "modernbert"' whole/model/config.json || fail "another model_type"
grep -q '"ModernBertForSequenceClassification"' whole/model/config.json || fail "another class"
grep -q 'type_vocab_size' whole/model/config.json && fail "config.json has token types"
grep -aqF 'model.layers.0.attn_norm' whole/model/model.safetensors && fail "the first layer has a norm before attention"
for name in model.layers.1.attn_norm.weight model.layers.3.mlp.Wi.weight model.final_norm.weight head.norm.weight; do
  grep -aqF "$name" whole/model/model.safetensors || fail "no $name"
done

# Recomputation changes no bit, and neither do kills.
"$berth" "${flags[@]}" --recompute --job-dir again >/dev/null 2>err.txt || fail "recomputing: $(tail -n 1 err.txt)"
cmp -s whole/model/model.safetensors again/model/model.safetensors || fail "recomputation changes the model"
survives_kills killed "${flags[@]}"
cmp -s whole/model/model.safetensors killed/model/model.safetensors || fail "a resumed job ends with other bits"

# What was exported can be trained further, on other tasks too, and predicts.
expect 0 finished --model whole/model --train-data-file "$sample" --max-steps 1 --batch-size 4 --precision auto --job-dir further
expect 0 finished --model whole/model --train-data-file "$sample" --task mlm --max-steps 1 --batch-size 4 --job-dir masked
expect 0 finished --model whole/model --train-data-file "$sample" --max-steps 1 --batch-size 4 --lora-rank 2 --export-adapter \
  --job-dir adapted
grep -aqF 'layers.0.attn.Wqkv.lora_A' adapted/model/adapter/adapter_model.safetensors || fail "no adapter of Wqkv"
"$berth" --mode predict --predict-data-file "$sample" --job-dir whole >/dev/null 2>err.txt || fail "predict: $(tail -n 1 err.txt)"
[ -s whole/predictions.tsv ] || fail "no predictions"

expect 0 finished --mode export_only --job-dir whole --export-dir graph --export-format onnx
expect 0 finished --mode convert --model whole/model --export-dir converted --export-format onnx
cmp -s graph/model.onnx converted/model.onnx || fail "the graph of the job is not that of its model"

sed 's/"pad_token_id": 0/"pad_token_id": 0, "rope_scaling": {"type": "linear", "factor": 2}/' modern/config.json >scaled.json
cp -r modern scaled && mv scaled.json scaled/config.json
expect 2 'rope_scaling' "${flags[@]}" --model scaled --job-dir scaled-job

finish
