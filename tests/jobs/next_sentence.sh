#!/usr/bin/env bash
# Pre-trains BERTs by masked tokens and next sentences, and ALBERTs by the order of texts, from text and from TFRecords, resumed after kills, evaluated and fine-tuned.
#   next_sentence.sh BERTH
. "$(dirname "$0")/lib.sh"

for i in $(seq 40); do
  for j in $(seq $((1 + i % 5))); do
    printf 'The %s river runs past number %d, and the unbelievable baker sells bread %d.\n' \
      "$([ $((i % 2)) = 0 ] && echo old || echo broad)" "$i" "$j"
  done
  echo
done >documents.txt
task=(--task mlm_nsp --model "$tiny" --max-seq-length 48 --threads 2)
flags=("${task[@]}" --train-data-file documents.txt --init random --batch-size 8 --max-steps 30 --save-steps 4 --eval-steps 10
  --learning-rate 1e-3 --warmup-steps 5 --validation-split 0.25 --whole-word-masking)

expect 0 finished "${flags[@]}" --job-dir whole
for metric in loss masked_lm_accuracy masked_lm_loss next_sentence_accuracy next_sentence_loss; do
  grep -q "\"$metric\"" whole/metrics.json || fail "no $metric in metrics.json"
done
grep -q '"BertForPreTraining"' whole/model/config.json || fail "config.json does not name BertForPreTraining"
for tensor in bert.pooler.dense.weight cls.predictions.bias cls.seq_relationship.weight cls.seq_relationship.bias; do
  grep -qaF "\"$tensor\"" whole/model/model.safetensors || fail "the exported model has no $tensor"
done
says 'the second text' <err.txt || fail "the rows that are shown do not say what their pairs are"

# Killed at any moment and started again, in whatever epoch, the job ends with the same bits; and so with a budget of tokens.
survives_kills killed "${flags[@]}"
cmp -s whole/model/model.safetensors killed/model/model.safetensors || fail "the weights differ after kills"
expect 0 finished "${flags[@]}" --token-budget 200 --job-dir budget
survives_kills budget-killed "${flags[@]}" --token-budget 200
cmp -s budget/model/model.safetensors budget-killed/model/model.safetensors || fail "the weights of a budget differ after kills"

# Evaluation has the same pairs and masks whatever the seed and the batches. Its loss is the sum of both.
scores() { expect 0 finished --mode eval --eval-data-file documents.txt --job-dir whole --threads 2 "$@"; }
scores
grep -E '"(masked_lm|next_sentence)_accuracy"' out.txt >first.txt
[ -s first.txt ] || fail "--mode eval tells no accuracy"
python3 - <<'PYTHON' || fail "the loss is not the sum of both losses"
import re
told = dict(re.findall(r'"(loss|masked_lm_loss|next_sentence_loss)": *([0-9.e-]+)', open("out.txt").read()))
assert abs(float(told["loss"]) - float(told["masked_lm_loss"]) - float(told["next_sentence_loss"])) < 1e-3, told
PYTHON
scores --seed 7
[ "$(grep -E '"(masked_lm|next_sentence)_accuracy"' out.txt)" = "$(cat first.txt)" ] || fail "evaluation depends on the seed"

# Documents in a table are the same documents.
python3 - <<'PYTHON'
import json
documents = open("documents.txt").read().strip().split("\n\n")
with open("documents.jsonl", "w") as file:
    file.writelines(json.dumps({"text": text}) + "\n" for text in documents)
PYTHON
expect 0 finished "${task[@]}" --train-data-file documents.txt --max-steps 3 --validation-split 0 --job-dir lines
expect 0 finished "${task[@]}" --train-data-file documents.jsonl --max-steps 3 --validation-split 0 --job-dir table
cmp -s lines/model/model.safetensors table/model/model.safetensors || fail "a table of documents gives other weights"

# The records of the first epoch have its pairs and masks: with the same data order, the same loss.
expect 0 finished --mode prepare "${task[@]}" --train-data-file documents.txt --validation-split 0 --export-dir records
grep -q 'reads these records with --max_predictions_per_seq 9 --max_seq_length 48' err.txt || fail "does not say how many tokens are masked"
[ -e records/meta_data.json ] && fail "records of pairs have meta data"
"$berth" --mode inspect records/train.tf_record >inspected.txt 2>err.txt
for feature in input_ids input_mask segment_ids masked_lm_positions masked_lm_ids masked_lm_weights next_sentence_labels; do
  grep -q "$feature" inspected.txt || fail "the records have no $feature"
done
expect 0 finished "${task[@]}" --train-data-file documents.txt --epochs 1 --validation-split 0 --job-dir of-text
expect 0 finished "${task[@]}" --train-data-file records/train.tf_record --epochs 1 --validation-split 0 --job-dir of-records
cmp -s of-text/model/model.safetensors of-records/model/model.safetensors || fail "records give other weights than their text"
expect 0 finished --task mlm --train-data-file records/train.tf_record --model "$tiny" --max-seq-length 48 --max-steps 3 \
  --validation-split 0.2 --job-dir masked-only
grep -q '"BertForMaskedLM"' masked-only/model/config.json || fail "records give no masked language model"
expect 0 finished --mode eval --eval-data-file records/train.tf_record --job-dir whole
expect 2 '--whole-word-masking: the flag changes nothing, because the rows are masked already' "${task[@]}" --train-data-file records/train.tf_record \
  --whole-word-masking --job-dir refused
expect 2 '--mlm-probability: the flag changes nothing' --mode eval --eval-data-file records/train.tf_record --job-dir whole --mlm-probability 0.3
# Records of a classifier are texts for a masked language model: their labels are no ends of texts.
expect 0 finished --mode prepare --train-data-file "$sample" --model "$tiny" --max-seq-length 32 --max-train-samples 60 \
  --validation-split 0 --export-dir classes
expect 0 finished --task mlm --train-data-file classes/train.tf_record --model "$tiny" --max-seq-length 32 --max-steps 3 \
  --validation-split 0.2 --job-dir of-classes
expect 0 finished --mode prepare "${task[@]}" --train-data-file documents.txt --record-format jsonl --export-dir lines-of-json
grep -q '"next_sentence_label"' lines-of-json/train.jsonl || fail "the lines of JSON have no label"

# The model goes on where it was, with LAMB and two micro-batches, as other tasks, and as other files.
expect 0 finished --task mlm_nsp --train-data-file documents.txt --model whole/model --batch-size 8 --gradient-accumulation-steps 2 \
  --max-steps 4 --max-seq-length 48 --optimizer lamb --job-dir adapted
grep -q 'initialised at random' err.txt && fail "parameters of the model are new"
expect 0 finished --train-data-file "$sample" --model adapted/model --max-steps 2 --job-dir tuned
expect 0 finished --task mlm --train-data-file documents.txt --model adapted/model --max-steps 2 --max-seq-length 48 --job-dir masked
expect 0 finished --mode export_only --job-dir adapted --export-dir tensorflow --export-format tensorflow
expect 0 finished --task mlm_nsp --max-seq-length 48 --train-data-file documents.txt --init_checkpoint tensorflow/bert_model.ckpt \
  --bert_config_file tensorflow/bert_config.json --vocab_file tensorflow/vocab.txt --max-steps 1 --learning-rate 1e-30 --job-dir of-tensorflow
cmp -s adapted/model/model.safetensors of-tensorflow/model/model.safetensors || fail "the TensorFlow checkpoint holds other weights"
expect 0 finished --mode convert --model adapted/model --export-dir converted --export-format onnx
grep -qaF 'seq_relationship_logits' converted/model.onnx || fail "the graph has no output for next sentences"
expect 0 finished "${task[@]}" --train-data-file documents.txt --lora-rank 2 --max-steps 3 --job-dir adapters
expect 2 'the merged model is exported anyway' "${task[@]}" --train-data-file documents.txt --lora-rank 2 --export-adapter --job-dir other
expect 0 '' "${task[@]}" --train-data-file documents.txt --max-steps 2 --dry-run --job-dir dry

[ -e other ] && fail "a job that was refused left a job directory"

# ALBERT learns the order of two texts, resumed after kills, from records, and as another task's model.
sed 's/"model_type": "bert"/"model_type": "albert", "tokenizer_class": "BertTokenizer", "embedding_size": 64/; s/BertModel/AlbertModel/' "$tiny/config.json" >albert.json
new=(--init random --model-config albert.json --vocab-file "$tiny/vocab.txt" --max-seq-length 48 --threads 2)
order=(--task mlm_sop --train-data-file documents.txt "${new[@]}")
albert=("${order[@]}" --batch-size 8 --max-steps 12 --save-steps 4 --eval-steps 6 --validation-split 0.25)
expect 0 finished "${albert[@]}" --job-dir order
for metric in masked_lm_accuracy masked_lm_loss sentence_order_accuracy sentence_order_loss; do
  grep -q "\"$metric\"" order/metrics.json || fail "no $metric in metrics.json"
done
grep -q '"AlbertForPreTraining"' order/model/config.json || fail "config.json does not name AlbertForPreTraining"
grep -qaF '"sop_classifier.classifier.weight"' order/model/model.safetensors || fail "the exported model has no layer for the order"
survives_kills order-killed "${albert[@]}"
cmp -s order/model/model.safetensors order-killed/model/model.safetensors || fail "the weights of an ALBERT differ after kills"
expect 0 finished --mode prepare "${order[@]}" --validation-split 0 --export-dir order-records
expect 0 finished "${order[@]}" --epochs 1 --validation-split 0 --job-dir order-text
expect 0 finished --task mlm_sop --train-data-file order-records/train.tf_record "${new[@]}" --epochs 1 --validation-split 0 --job-dir of-order-records
cmp -s order-text/model/model.safetensors of-order-records/model/model.safetensors || fail "records of an ALBERT give other weights than text"
expect 0 finished --mode export_only --job-dir order --export-dir order-tensorflow --export-format tensorflow
expect 0 finished --train-data-file "$sample" --model order/model --max-steps 2 --job-dir order-tuned
expect 0 finished --task mlm_sop --train-data-file documents.txt --model order/model --max-seq-length 48 --max-steps 2 --job-dir order-more
grep -q 'initialised at random' err.txt && fail "parameters of the ALBERT are new"
expect 2 'or use --task mlm_nsp or --task mlm' --task mlm_sop --train-data-file documents.txt --model "$tiny" --max-seq-length 48 --job-dir other
expect 2 'or use --task mlm_sop or --task mlm' --task mlm_nsp --train-data-file documents.txt "${new[@]}" --job-dir other

sed 's/"model_type": "bert"/"model_type": "electra", "embedding_size": 64/; s/BertModel/ElectraModel/' "$tiny/config.json" >electra.json
expect 2 'and the model is of model_type electra' --task mlm_nsp --train-data-file documents.txt --init random --model-config electra.json \
  --vocab-file "$tiny/vocab.txt" --max-seq-length 48 --job-dir other
tr -s '\n' <documents.txt >one.txt
expect 3 'fewer than two documents' "${task[@]}" --train-data-file one.txt --job-dir other
awk 'NF && NR % 7 == 1 { print; print "" }' documents.txt >single.txt
expect 3 'every document is one sentence' "${task[@]}" --train-data-file single.txt --job-dir other
sed -n 1,60p documents.txt >few.txt
expect 3 'in the documents to evaluate on' "${task[@]}" --train-data-file few.txt --validation-split 0.01 --job-dir other
expect 3 'in the documents to evaluate on' --mode prepare "${task[@]}" --train-data-file few.txt --validation-split 0.01 --export-dir few
[ -e few/train.tf_record ] && fail "records were written before the documents to evaluate on were read"
expect 3 'masked_lm_positions' --train-data-file records/train.tf_record --model "$tiny" --job-dir other
expect 2 'prepared already' --mode prepare "${task[@]}" --train-data-file records/train.tf_record --export-dir again
expect 2 'nothing to predict' --mode predict --predict-data-file documents.txt --job-dir whole

finish
