#!/usr/bin/env bash
# Tests the modes that only read files or convert them, and training from a model of every format.
#   tools.sh BERTH
. "$(dirname "$0")/lib.sh"
testdata=$repository/tests/testdata

printf 'text,label\n"A ball, kicked",sport\nBread,food\nThe train left,travel\n' >rows.csv
"$berth" --mode inspect rows.csv >out.txt 2>err.txt || fail "inspect: $(tail -n 1 err.txt)"
grep -q '^rows.csv: csv, 3 rows, 2 columns$' out.txt || fail "inspect says: $(head -n 1 out.txt)"
"$berth" --mode inspect --json rows.csv >out.txt 2>err.txt || fail "inspect --json: $(tail -n 1 err.txt)"
[ "$(cat out.txt)" = '{"format":"csv","rows":3,"columns":["text","label"],"first":[["A ball, kicked","sport"],["Bread","food"],["The train left","travel"]]}' ] ||
  fail "inspect --json says: $(cat out.txt)"
"$berth" --mode inspect --json --input "$testdata/small.tfevents" >out.txt 2>err.txt || fail "events: $(tail -n 1 err.txt)"
grep -q '"tags":\["loss","learning_rate","settings"\],"scalars":{"loss":\[\[0,0.0\],\[300,0.5\]\]' out.txt || fail "events: $(cat out.txt)"
head -c 60 "$testdata/small.tfevents" >cut.tfevents
expect 3 'record at byte' --mode inspect cut.tfevents
expect 4 'no such file' --mode inspect absent.csv
expect 3 'berth cannot look into this kind of file' --mode inspect "$repository/README.md"
expect 2 'the file to look into is missing' --mode inspect
"$berth" --mode inspect --json rows.csv rows.csv >out.txt 2>err.txt || fail "inspect of two files: $(tail -n 1 err.txt)"
[ "$(grep -c '^{"format":"csv","rows":3' out.txt)" = 2 ] || fail "inspect of two files says: $(cat out.txt)"
expect 4 'absent.csv' --mode inspect rows.csv absent.csv
# A reader that has seen enough is no failure.
"$berth" --mode inspect "$testdata/tiny_model" 2>err.txt > >(head -n 1 >/dev/null) ||
  fail "inspect for a reader of one line: $(tail -n 1 err.txt)"
("$berth" --mode inspect "$testdata/tiny_model" 2>err.txt; echo $? >code.txt) | true
[ "$(cat code.txt)" = 0 ] || fail "inspect into a closed pipe ends with $(cat code.txt)"
! grep -q ERROR err.txt || fail "inspect into a closed pipe says: $(cat err.txt)"

# A model that is converted to TensorFlow's format and back keeps every tensor.
"$berth" --train-data-file "$sample" --max-steps 4 --batch-size 4 --job-dir job --export-format tensorflow --profile 2 --log-histograms 2>err.txt ||
  fail "training: $(tail -n 1 err.txt)"
grep -q 'profile of 2 updates, .* busy: thread 0 ' err.txt && grep -q 'linear_backward' err.txt || fail "no profile in the log: $(cat err.txt)"
cat job/summaries/train/*histograms* | says 'bert.encoder.layer.0/output.dense.bias' || fail "there are no histograms"
grep -aq 'adamw' job/profile.pftrace && grep -aq 'waiting for data' job/profile.pftrace || fail "profile.pftrace lacks operations"
crcs() { "$berth" --mode inspect --json "$1" 2>/dev/null | grep -o '"name":"[^"]*","dtype":"[^"]*","shape":[^]]*],"crc32c":"[0-9a-f]*"' | sort; }
crcs job/model >job.crcs
[ "$(wc -l <job.crcs)" -gt 30 ] || fail "the model has too few tensors"
"$berth" --mode inspect job | says 'safetensors, .* tensors, .* parameters' || fail "inspect of a job directory"
"$berth" --mode inspect job | sed -n 1,10p >out.txt
for line in 'architecture  bert' 'task          sequence_classification' 'labels        4: ' 'tokenizer     tokenizer.json, vocab.txt'; do
  grep -qF "  $line" out.txt || fail "no '$line' in the first ten lines: $(cat out.txt)"
done
"$berth" --mode inspect job/model/bert_model.ckpt | says 'bert/encoder/layer_0/attention/self/query/kernel' || fail "no TensorFlow names"
"$berth" --mode convert --model job/model --export-dir tf --export-format tensorflow 2>err.txt || fail "to tensorflow: $(tail -n 1 err.txt)"
"$berth" --mode convert --model tf --export-dir back --export-format safetensors 2>err.txt || fail "from tensorflow: $(tail -n 1 err.txt)"
crcs back >back.crcs
cmp -s job.crcs back.crcs || fail "tensors differ after both conversions: $(diff job.crcs back.crcs | sed -n 1,4p)"
cmp -s job/model/vocab.txt back/vocab.txt || fail "the conversions changed the vocabulary"
"$berth" --mode convert --model job --export-dir half --export-dtype bfloat16 2>err.txt || fail "to bfloat16: $(tail -n 1 err.txt)"
"$berth" --mode inspect half | says 'BF16 .*classifier.weight' || fail "no bfloat16 tensors"
grep -q '"dtype": "bfloat16"' half/config.json || fail "config.json does not tell of bfloat16"
"$berth" --mode eval --eval-data-file "$sample" --model half >out.txt 2>err.txt || fail "eval in bfloat16: $(tail -n 1 err.txt)"
for model in job tf/bert_model.ckpt back/model.safetensors; do
  "$berth" --train-data-file "$sample" --max-steps 1 --batch-size 4 --validation-split 0 --model $model --job-dir "again-${model%%/*}" 2>err.txt ||
    fail "training from $model: $(tail -n 1 err.txt)"
done
cmp -s again-tf/model/model.safetensors again-back/model/model.safetensors || fail "the formats of one model train to different weights"

# A conversion takes wrappers off, and writes a TensorFlow checkpoint of an encoder that was saved alone. What it refuses leaves no file.
python3 - job/model <<'PYTHON'
import json, pathlib, shutil, struct, sys

def copy(folder, rename):
    shutil.copytree(sys.argv[1], folder)
    bytes = (pathlib.Path(folder) / "model.safetensors").read_bytes()
    size = struct.unpack("<Q", bytes[:8])[0]
    header = json.loads(bytes[8:8 + size])
    header = json.dumps({name if name.startswith("__") else rename(name): value for name, value in header.items()}).encode()
    (pathlib.Path(folder) / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + bytes[8 + size:])

copy("wrapped", lambda name: "model._orig_mod." + name)
copy("alone", lambda name: name.removeprefix("bert.").replace("LayerNorm.weight", "LayerNorm.gamma"))
copy("placeless", lambda name: name.replace("classifier.", "fc."))
copy("unmerged", lambda name: name.replace("query.weight", "query.base_layer.weight"))
PYTHON
expect 0 finished --mode convert --model wrapped --export-dir unwrapped
crcs unwrapped >unwrapped.crcs
cmp -s job.crcs unwrapped.crcs || fail "the conversion keeps wrappers: $(diff job.crcs unwrapped.crcs | sed -n 1,4p)"
expect 0 finished --mode convert --model alone --export-dir alone-tf --export-format tensorflow
expect 0 finished --mode convert --model alone-tf --export-dir alone-back
crcs alone-back >alone.crcs
cmp -s job.crcs alone.crcs || fail "an encoder alone differs after both conversions: $(diff job.crcs alone.crcs | sed -n 1,4p)"
expect 3 'adapters are not merged' --mode convert --model unmerged --export-dir none
expect 2 'has no place in a TensorFlow checkpoint' --mode convert --model placeless --export-dir none --export-format tensorflow
[ ! -e none ] || fail "a refused conversion leaves $(ls none)"

# Variables of several types, some of odd sizes, are converted too, and a damaged string tensor is named.
mkdir types graph-of-names
tar xf "$testdata/tensorflow.tar" -C types --wildcards 'types.ckpt.*' && cp "$tiny/config.json" types
expect 3 'parameters are missing' --mode convert --model types --export-dir none
echo '{"model_type": "other"}' >types/config.json
"$berth" --mode convert --model types --export-dir types-st 2>err.txt || fail "several types: $(tail -n 1 err.txt)"
grep -q 'berth does not know this model' err.txt || fail "no warning of a model that is not known"
"$berth" --mode inspect types-st/model.safetensors 2>/dev/null | says '10 tensors' || fail "several types do not arrive"
tar xf "$testdata/tensorflow.tar" -C graph-of-names --wildcards 'tf2_layers.ckpt.*' && cp "$tiny/config.json" graph-of-names
printf 'x' | dd of=graph-of-names/tf2_layers.ckpt.data-00000-of-00001 bs=1 seek=5000 conv=notrunc status=none
expect 3 'tensor "_CHECKPOINTABLE_OBJECT_GRAPH"' --mode convert --model graph-of-names --export-dir none

# ONNX: a job, export_only and convert write the same graph, with LoRA's adapters merged. tests/peers/check_onnx.py runs them.
"$berth" --train-data-file "$sample" --max-steps 2 --batch-size 4 --lora-rank 2 --job-dir graph --export-format onnx 2>err.txt ||
  fail "a job with onnx: $(tail -n 1 err.txt)"
"$berth" --mode export_only --job-dir graph --export-dir graph-again --export-format onnx 2>err.txt || fail "export_only: $(tail -n 1 err.txt)"
"$berth" --mode convert --model graph/model --export-dir graph-alone --export-format onnx 2>err.txt || fail "to onnx: $(tail -n 1 err.txt)"
for folder in graph-again graph-alone; do cmp graph/model/model.onnx $folder/model.onnx || fail "another graph in $folder"; done
[ -s graph/model/model.safetensors ] && [ ! -e graph-alone/model.safetensors ] || fail "the wrong files are beside model.onnx"
for file in config.json vocab.txt tokenizer_config.json; do
  cmp -s graph/model/$file graph-alone/$file || fail "the conversion to onnx changed $file"
done
grep -aq '"id2label"' graph-alone/config.json && grep -aq 'berth' graph-alone/model.onnx || fail "no labels, or no producer"
"$berth" --mode convert --model graph --export-dir half-graph --export-format onnx --export-dtype float16 2>err.txt || fail "float16: $(tail -n 1 err.txt)"
[ $((2 * $(stat -c %s half-graph/model.onnx))) -lt $((11 * $(stat -c %s graph/model/model.onnx) / 10)) ] || fail "float16 does not halve the file"
# A number that does not fit float16 is refused before any file is written.
cp -r graph/model large
python3 - large/model.safetensors <<'PYTHON'
import json, struct, sys
with open(sys.argv[1], "r+b") as file:
    size = struct.unpack("<Q", file.read(8))[0]
    begin = json.loads(file.read(size))["classifier.weight"]["data_offsets"][0]
    file.seek(8 + size + begin)
    file.write(struct.pack("<f", 1e6))
PYTHON
for format in onnx safetensors; do
  expect 3 'infinite as F16' --mode convert --model large --export-dir none --export-format $format --export-dtype float16
done
[ ! -e none ] || fail "a refused conversion leaves $(ls none)"
expect 3 'cls.predictions.bias' --mode convert --model graph --export-dir none --export-format onnx --task mlm
expect 2 'is not a task' --mode convert --model graph --export-dir none --export-format onnx --task guess

# export_only exports the best checkpoint of a job, whether or not the job has finished. It also copies a --model.
cp -r job killed && rm -r killed/model killed/metrics.json
for from in "--job-dir killed" "--job-dir job" "--model job"; do
  rm -rf exported
  "$berth" --mode export_only $from --export-dir exported --export-format tensorflow 2>err.txt ||
    fail "export_only $from: $(tail -n 1 err.txt)"
  [ -s exported/bert_model.ckpt.index ] || fail "no TensorFlow checkpoint from $from"
done
"$berth" --mode export_only --job-dir killed --export-dir exported 2>err.txt || fail "export_only: $(tail -n 1 err.txt)"
cmp -s exported/model.safetensors job/model/model.safetensors || fail "export_only exports other weights than the best checkpoint"
for file in config.json vocab.txt tokenizer.json; do cmp -s exported/$file job/model/$file || fail "export_only changed $file"; done
rm -rf killed/checkpoints
expect 4 'model' --mode export_only --job-dir killed --export-dir exported
expect 4 'no job was here' --mode export_only --job-dir back --export-dir exported
expect 2 '--export-dir is missing' --mode export_only --job-dir job

# A conversion keeps what sentence-transformers and people read beside a model.
cp -r job/model sentences && mkdir sentences/1_Pooling && echo '{"pooling_mode_cls_token": true}' >sentences/1_Pooling/config.json
echo '[{"path": "", "type": "a.Transformer"}, {"path": "1_Pooling", "type": "a.Pooling"}]' >sentences/modules.json
echo 'a card' >sentences/README.md
"$berth" --mode convert --model sentences --export-dir kept 2>err.txt || fail "a model of sentence-transformers: $(tail -n 1 err.txt)"
for file in README.md 1_Pooling/config.json; do cmp sentences/$file kept/$file || fail "the conversion changed $file"; done
[ -s kept/modules.json ] || fail "the conversion leaves modules.json behind"

# The tokenizer of another name, and the function of a cross-encoder's scores.
cp -r job/model pieces && cp "$sample" pieces/tokenizer.model && cp "$sample" pieces/sentencepiece.model
expect 0 finished --mode convert --model pieces --export-dir kept-pieces
for file in tokenizer.model sentencepiece.model; do cmp pieces/$file kept-pieces/$file || fail "the conversion drops $file"; done
printf 'text,text_pair,label\na ball,a sport,0.5\nbread,a sport,0\n' >scores.csv
expect 0 finished --task regression --train-data-file scores.csv --eval-data-file scores.csv --max-steps 1 --batch-size 2 --job-dir scores
cp -r scores/model scorer && rm scorer/model.onnx 2>/dev/null
echo '{"model_type": "CrossEncoder", "activation_fn": "torch.nn.modules.linear.Identity"}' >scorer/config_sentence_transformers.json
expect 0 finished --mode convert --model scorer --export-dir scorer-graph --export-format onnx
for file in config.json config_sentence_transformers.json; do
  grep -q 'torch.nn.modules.linear.Identity' scorer-graph/$file || fail "the graph's $file lacks the function of the scores"
done
sed -i 's/linear.Identity/activation.Tanh/' scorer/config_sentence_transformers.json
expect 2 'the function of the scores is' --mode convert --model scorer --export-dir none --export-format onnx
cp -r job/model classes && cp scorer-graph/modules.json classes
echo '{"model_type": "CrossEncoder", "activation_fn": "torch.nn.modules.linear.Identity"}' >classes/config_sentence_transformers.json
expect 0 finished --mode convert --model classes --export-dir classes-graph --export-format onnx
cmp classes/config_sentence_transformers.json classes-graph/config_sentence_transformers.json || fail "the function of classes is lost"

# A comparison marks no scores of other rows.
expect 0 finished --mode report job scores --report-file compared.html
grep -q 'evaluated on different rows' compared.html || fail "scores of other rows are compared"

# --mode fetch.
mkdir -p rows/part && cp rows.csv rows/part/more.csv && tar -cf rows.tar -C rows part
"$berth" --mode fetch rows.csv job/model rows.tar --export-dir fetched 2>err.txt || fail "fetch: $(tail -n 1 err.txt)"
cmp -s rows.csv fetched/rows.csv && cmp -s rows.csv fetched/part/more.csv || fail "fetch copies other bytes"
diff -r job/model fetched >diff.txt
[ "$(sort diff.txt)" = "$(printf 'Only in fetched: %s\n' part rows.csv)" ] || fail "fetch of a folder: $(cat diff.txt)"
expect 2 'what to fetch is missing' --mode fetch --export-dir none
expect 2 '--export-dir is missing' --mode fetch rows.csv
expect 2 'two files "rows.csv"' --mode fetch rows.csv fetched --export-dir none
expect 4 'no such file' --mode fetch rows.csv absent.csv --export-dir none
[ ! -e none ] || fail "a fetch that is refused leaves a directory behind"

# --mode tokenize.
printf 'A ball, kicked\n\n' >texts.txt
"$berth" --mode tokenize --model job/model --input texts.txt >out.txt 2>err.txt || fail "tokenize: $(tail -n 1 err.txt)"
[ "$(wc -l <out.txt)" = 2 ] || fail "tokenize prints $(wc -l <out.txt) lines for two"
"$berth" --mode tokenize --model job/model --input - <texts.txt 2>/dev/null | cmp -s - out.txt || fail "standard input differs"
"$berth" --mode tokenize --model job/model --text 'A ball, kicked' 2>/dev/null | cmp -s - <(head -n 1 out.txt) || fail "--text differs"
tar -czf model.tar.gz -C job model
for model in job model.tar.gz job/model/model.safetensors; do
  "$berth" --mode tokenize --model $model --input texts.txt 2>/dev/null | cmp -s - out.txt || fail "tokens of $model differ"
done
head -n 1 out.txt | says '^{"tokens":\["\[CLS\]",.*"offsets":\[\[0,0\],\[0,1\],\[2,' || fail "tokenize says something else"
"$berth" --mode tokenize --model job/model --no-add-special-tokens --text 'A ball' >out.txt 2>err.txt || fail "tokenize: $(tail -n 1 err.txt)"
! grep CLS out.txt || fail "--no-add-special-tokens has no effect"
printf '{"text": "A ball", "text_pair": ""}\n{"text": "A ball"}\n' >pairs.jsonl
"$berth" --mode tokenize --model job/model --input pairs.jsonl >out.txt 2>err.txt || fail "pairs: $(tail -n 1 err.txt)"
[ "$(head -n 1 out.txt | grep -o SEP | wc -l)" = 2 ] && [ "$(tail -n 1 out.txt | grep -o SEP | wc -l)" = 1 ] || fail "an empty pair: $(cat out.txt)"
expect 4 'no tokenizer' --mode tokenize --model job/summaries --text a
expect 4 'is what --vocab-file names' --mode tokenize --model job --vocab-file none.txt --text a
finish
