#!/usr/bin/env bash
# Runs the modes of the program on every kind of file and checks what they write.
#   modes.sh BERTH
. "$(dirname "$0")/lib.sh"

train=(--train-data-file "$sample" --max-steps 6 --batch-size 4 --job-dir job)
"$berth" "${train[@]}" >out.txt 2>err.txt || fail "training: $(tail -n 1 err.txt)"
for file in job.json metrics.json model/config.json model/model.safetensors model/vocab.txt model/tokenizer.json \
  model/tokenizer_config.json model/README.md checkpoints/best.json checkpoints/step-00000006/MANIFEST.json; do
  [ -s "job/$file" ] || fail "no $file"
done
ls job/summaries/train/events.out.tfevents.* job/summaries/eval/events.out.tfevents.* >/dev/null || fail "no summaries"
[ ! -s out.txt ] || fail "training wrote to standard output"
while read -r line; do [[ $line == \{*\} ]] || fail "not a JSON line: $line"; done <err.txt
grep -q '"finished": true' job/metrics.json || fail "metrics.json does not say finished"
check_report job/report.html 6
grep -q 'Finished, exit code 0' job/report.html || fail "the report does not say that the job finished"
expect 0 'finished' --mode report job --report-file pages/compared.html
grep -q '1 job compared' pages/compared.html || fail "the page of one job"
expect 4 'there is no job.json' --mode report job nowhere

# The same rows give the same predictions in every file format.
printf 'text,label\nA ball was kicked,sport\n"Bread, with ""butter""",food\nThe train left,travel\n' >rows.csv
printf 'text\tlabel\nA ball was kicked\tsport\nBread, with "butter"\tfood\nThe train left\ttravel\n' >rows.tsv
printf '{"text": "A ball was kicked", "label": "sport"}\n{"text": "Bread, with \\"butter\\"", "label": "food"}\n{"text": "The train left", "label": "travel"}\n' >rows.jsonl
gzip -k rows.csv && bzip2 -k rows.tsv && xz -k rows.jsonl
for file in rows.csv rows.tsv rows.jsonl rows.csv.gz rows.tsv.bz2 rows.jsonl.xz; do
  "$berth" --mode predict --predict-data-file $file --model job/model >predictions-$file.txt 2>err.txt ||
    fail "predict $file: $(tail -n 1 err.txt)"
  cmp -s predictions-rows.csv.txt predictions-$file.txt || fail "the predictions for $file differ"
done
[ "$(wc -l <predictions-rows.csv.txt)" = 4 ] || fail "predictions are not a header and three rows"
head -n 1 predictions-rows.csv.txt | says $'^id\tprediction\t' || fail "header of predictions"
expect 0 'finished' --mode predict --predict-data-file rows.csv --job-dir job
cmp -s predictions-rows.csv.txt job/predictions.tsv || fail "predictions.tsv differs from standard output"
rm job/predictions.tsv
expect 0 'finished' --mode predict --predict-data-file rows.csv --job-dir job --predictions-file elsewhere/mine.tsv
cmp -s predictions-rows.csv.txt elsewhere/mine.tsv || fail "--predictions-file differs from standard output"
[ ! -e job/predictions.tsv ] || fail "--predictions-file wrote predictions.tsv, too"
expect 0 'finished' --mode predict --predict-data-file rows.csv --job-dir job --predictions-file -
cmp -s predictions-rows.csv.txt out.txt || fail "--predictions-file - is not standard output"
expect 2 'only for --mode predict, embed and mine' "${train[@]}" --predictions-file mine.tsv
expect 2 'only for --mode predict' "${train[@]}" --id-column id

# Results replace nothing that is read, and their names say what they are.
cp rows.csv mine.csv && ln -s mine.csv link.csv && mkdir rows && cp rows.csv rows/a.csv && cp -r job/model own
for file in ./mine.csv "$PWD/mine.csv" link.csv; do
  expect 2 'would replace the rows' --mode predict --predict-data-file mine.csv --job-dir job --predictions-file "$file"
done
expect 2 'would replace the rows' --mode predict --predict-data-file rows --job-dir job --predictions-file rows/a.csv
expect 2 'would replace the rows' --mode embed --predict-data-file mine.csv --model own --predictions-file mine.csv
expect 2 'would replace a file of the model' --mode predict --predict-data-file mine.csv --model own --predictions-file own/vocab.txt
expect 2 'would replace a file of the model' --mode embed --predict-data-file mine.csv --model own --predictions-file own/config.json
expect 0 finished --mode predict --predict-data-file mine.csv --job-dir job --predictions-with-text
expect 2 'would replace the rows' --mode predict --predict-data-file job/predictions.tsv --job-dir job
cmp rows.csv mine.csv && cmp rows.csv rows/a.csv && diff -r job/model own || fail "an input was replaced"
expect 0 finished --mode predict --predict-data-file mine.csv --model own --predictions-file own/p.tsv
for file in p.tsv.gz p.parquet p.jsonl p.JSON p.npy; do
  expect 2 'names another format' --mode predict --predict-data-file mine.csv --job-dir job --predictions-file $file
done

# Products in int8 are for a finished model, and an evaluation tells what they cost.
expect 0 'finished' --mode eval --eval-data-file rows.csv --job-dir job --precision int8
python3 -c "import json; m = json.load(open('out.txt')); assert m['precision'] == 'int8' and 'accuracy' in m['eval_fp32']" ||
  fail "int8: $(cat out.txt)"
grep -q 'int8 compared with fp32 on 3 rows: accuracy [0-9.]* instead of [0-9.]*, ' err.txt || fail "no cost of int8: $(cat err.txt)"
expect 0 'finished' --mode predict --predict-data-file rows.csv --job-dir job --predictions-file - --precision int8 \
  --eval-data-file rows.csv
grep -q 'int8 compared with fp32 on 3 rows' err.txt || fail "predict does not tell the cost of int8: $(cat err.txt)"
[ "$(wc -l <out.txt)" = 4 ] || fail "predictions in int8: $(cat out.txt)"
expect 2 'a model is not trained in int8' "${train[@]}" --precision int8
expect 2 'on CPUs only' --mode predict --predict-data-file rows.csv --job-dir job --precision int8 --device xla-cpu

# Rows keep their own ids, and each line may have its texts.
printf 'key,text,id\nx1,A ball was kicked,b\nx2,"Bread, with ""butter""",a\nx3,The train left,c\n' >named.csv
expect 0 'finished' --mode predict --predict-data-file named.csv --job-dir job --predictions-file - --predictions-with-text
[ "$(cut -f 1 out.txt | tr '\n' ' ')" = 'id b a c ' ] || fail "ids: $(cat out.txt)"
cut -f 2- out.txt | rev | cut -f 2- | rev >bare.txt
cut -f 2- predictions-rows.csv.txt | cmp -s - bare.txt || fail "--predictions-with-text changes predictions"
[ "$(awk -F '\t' '{print $NF}' out.txt | sed -n 1p)" = text ] || fail "no column text"
awk -F '\t' '{print $NF}' out.txt | says -xF '"Bread, with ""butter"""' || fail "another text"
# Nothing in them acts on a terminal, and nothing is computed by a spreadsheet where that is asked for. berth reads them back.
printf 'text\n=1+1\n"a \e[31mred\u202e ball"\n-0.5\n' >hostile.csv
hostile=(--mode predict --predict-data-file hostile.csv --job-dir job --predictions-with-text)
expect 0 'finished' "${hostile[@]}" --predictions-file plain.tsv
[ "$(awk -F '\t' '{print $NF}' plain.tsv | tr '\n' ';')" = 'text;=1+1;a \x1b[31mred\u202e ball;-0.5;' ] || fail "texts: $(cat -v plain.tsv)"
expect 0 'finished' "${hostile[@]}" --predictions-file safe.tsv --predictions-safe-for-spreadsheets
sed "s/=1+1/'=1+1/" plain.tsv | cmp -s - safe.tsv || fail "texts for spreadsheets: $(cat -v safe.tsv)"
"$berth" --mode inspect --json safe.tsv | says '"rows":3,.*1+1' || fail "safe.tsv is not read back"
expect 2 'only for --mode predict' --mode eval --eval-data-file rows.csv --job-dir job --predictions-safe-for-spreadsheets
expect 0 'finished' --mode predict --predict-data-file named.csv --job-dir job --predictions-file - --id-column key
[ "$(cut -f 1 out.txt | tr '\n' ' ')" = 'id x1 x2 x3 ' ] || fail "--id-column: $(cat out.txt)"
mkdir two && cp named.csv two/a.csv && cp named.csv two/b.csv
expect 0 'finished' --mode predict --predict-data-file two --job-dir job --predictions-file - --id-column key
[ "$(cut -f 1 out.txt | tr '\n' ' ')" = 'id x1 x2 x3 x1 x2 x3 ' ] || fail "--id-column of two files: $(cat out.txt)"
expect 3 'there is no column "kei" (--id-column)' --mode predict --predict-data-file named.csv --job-dir job --id-column kei

# Labels by number have the names that --label-names gives, and a finished model takes both.
printf 'text,label\nA ball was kicked,0\nBread with butter,1\nThe train left,2\n' >numbers.csv
expect 0 'finished' --train-data-file numbers.csv --eval-data-file numbers.csv --job-dir by_name --max-steps 2 \
  --label-names 'sport, food,travel'
grep -q '"2": "travel"' by_name/model/config.json || fail "labels: $(cat by_name/model/config.json)"
expect 0 'finished' --mode eval --eval-data-file numbers.csv --job-dir by_name
expect 0 'finished' --mode eval --eval-data-file rows.csv --job-dir by_name
expect 0 'finished' --mode predict --predict-data-file numbers.csv --model by_name/model --label-names a,b,c
head -n 1 out.txt | says $'^id\tprediction\ta\tb\tc$' || fail "--label-names of a finished model: $(cat out.txt)"
expect 2 '2 names for a model of 3 outputs' --mode predict --predict-data-file numbers.csv --model by_name/model --label-names a,b
expect 5 '--label-names was "" and is now "a,b"' "${train[@]}" --label-names a,b
expect 2 'stands twice' --train-data-file numbers.csv --max-steps 1 --job-dir no --label-names a,a
expect 2 'only for tasks with classes' --train-data-file numbers.csv --task regression --max-steps 1 --job-dir no --label-names a,b
expect 3 'label "2" is not one of "a", "b"' --train-data-file numbers.csv --max-steps 1 --job-dir no --label-names a,b

expect 0 'finished' --mode eval --eval-data-file rows.jsonl --job-dir job
grep -q '"accuracy"' out.txt || fail "eval prints no accuracy"

# --max-eval-samples: the first rows, as Trainer's examples take them, from a file, of held-out rows, and in --mode eval.
expect 0 'finished' --mode eval --eval-data-file rows.jsonl --job-dir job --max-eval-samples 2
grep -q 'evaluates on the first 2 of 3 rows' err.txt || fail "does not say which rows are evaluated"
head -n 2 rows.jsonl >two.jsonl
cp out.txt first.txt
expect 0 'finished' --mode eval --eval-data-file two.jsonl --job-dir job
python3 -c "
import json
first, two = json.load(open('first.txt')), json.load(open('out.txt'))
assert first['eval']['examples'] == 2 and first['eval'] == two['eval'], (first, two)" || fail "--max-eval-samples in --mode eval"
for rows in 'eval-data-file rows.csv' 'validation-split 0.02'; do
  expect 0 'finished' --train-data-file "$sample" --${rows% *} ${rows#* } --max-steps 1 --job-dir "few ${rows% *}" \
    --max-eval-samples 2
  python3 -c "import json, sys; assert json.load(open(sys.argv[1]))['eval']['examples'] == 2" "few ${rows% *}/metrics.json" ||
    fail "--max-eval-samples with --$rows"
done
expect 0 'finished' --mode eval --eval-data-file rows.jsonl --job-dir job

# --mode eval reads rows as the job did, unless flags say otherwise.
expect 0 'finished' --train-data-file rows.csv --eval-data-file rows.csv --job-dir cut --max-steps 2 --max-seq-length 5 \
  --text-column text --model "$PWD/job/model"
loss=$(sed -n '/"eval"/,$s/ *"loss": //p' cut/metrics.json)
expect 0 'finished' --mode eval --eval-data-file rows.csv --job-dir cut
grep -qF -- "$loss" out.txt || fail "evaluated otherwise than in the job: $(cat out.txt)"
grep -qF -- '--max-seq-length 5' err.txt || fail "does not say how rows are read"
expect 0 'finished' --mode eval --eval-data-file rows.csv --job-dir cut --max-seq-length 32
! grep -qF -- "$loss" out.txt || fail "--max-seq-length has no effect"
# If the training command is repeated with --mode eval, its --model is ignored in favour of the trained model. Another --model is used.
expect 0 'finished' --mode eval --eval-data-file rows.csv --job-dir cut --model "$PWD/job/model" \
  --model-config job/model/config.json
grep -qF -- "$loss" out.txt || fail "evaluates the model that the job began with"
expect 0 'finished' --mode eval --eval-data-file rows.csv --job-dir cut --model job
! grep -qF -- "$loss" out.txt || fail "evaluates the job's model instead of --model"
expect 0 'finished' --train-data-file rows.csv --eval-data-file rows.csv --job-dir away --max-steps 1 --export-dir away-model
expect 0 'finished' --mode predict --predict-data-file rows.csv --job-dir away
rm -r away-model
expect 4 'has not finished' --mode predict --predict-data-file rows.csv --job-dir away

# A finished job refuses requests that differ from those of its first run, and says how to fulfil them.
expect 5 '--mode export_only' "${train[@]}" --export-dir elsewhere
expect 5 '--mode was "train_and_eval"' "${train[@]}" --mode train
expect 0 'finished' --train-data-file rows.csv --eval-data-file rows.csv --job-dir unseen --max-steps 1 --mode train
expect 5 '--mode eval evaluates it' --train-data-file rows.csv --eval-data-file rows.csv --job-dir unseen --max-steps 1
# Another job does not resume from its checkpoints.
expect 5 'belong to another job' --train-data-file "$sample" --max-steps 6 --batch-size 4 --seed 7 --job-dir other \
  --checkpoint-dir job/checkpoints
[ ! -e other/job.json ] || fail "a refused job left its record"

# --dry-run writes no files and prints the size of the job.
expect 0 'finished' --train-data-file "$sample" --job-dir dry --dry-run --batch-size 16 --log-format json
grep -q '^{"train_examples":1800,.*"total_steps":339,.*"total_bytes":[0-9]*,' out.txt || fail "no estimate: $(cat out.txt)"
[ ! -e dry ] || fail "a dry run left a job directory"
expect 0 'finished' --train-data-file "$sample" --job-dir job --dry-run --max-steps 6 --batch-size 4
grep -q '^activations  *[0-9.]* MiB' out.txt || fail "no estimate of a finished job: $(cat out.txt)"
expect 2 'is for training' --mode eval --eval-data-file rows.jsonl --job-dir job --dry-run

# The mean training loss in metrics.json is weighted as the losses of the steps are.
expect 0 'finished' --train-data-file "$sample" --job-dir weighed --mode train --max-steps 1 --batch-size 4 --class-weights 10,10,10,10
grep -q -- '--class-weights: .* 10, ' err.txt || fail "does not say which class has which weight"
whole=$(sed -n '0,/"loss"/s/ *"loss": \([0-9.]*\),/\1/p' weighed/metrics.json)
step=$(sed -n 's/.*"event":"step".*"loss":\([0-9.]*\),.*/\1/p' err.txt | tail -n 1)
awk -v a="$whole" -v b="$step" 'BEGIN { exit !(a > 0 && (a - b) ^ 2 < 1e-8) }' || fail "the mean loss is $whole, but the step's loss is $step"

# With --token-budget every row is seen once in each epoch.
expect 0 'finished' --train-data-file "$sample" --job-dir by-tokens --token-budget 2000 --epochs 1 \
  --gradient-accumulation-steps 2
grep -q '"examples": 1800,' by-tokens/metrics.json || fail "--token-budget left rows out"

# Records of token ids need no vocabulary. The spellings of the TensorFlow tutorial are accepted.
expect 0 'finished' --mode prepare --train-data-file "$sample" --model job/model --export-dir tutorial
tutorial=(--input_meta_data_path=tutorial/meta_data.json --eval_data_path=tutorial/eval.tf_record
  --bert_config_file=job/model/config.json --model_dir=ids)
expect 0 'finished' --mode=train_and_eval "${tutorial[@]}" --train_data_path=tutorial/train.tf_record --init random --max-steps 1
expect 0 'finished' --mode=eval "${tutorial[@]}"
grep -q '"accuracy"' out.txt || fail "the tutorial's eval prints no accuracy"
expect 0 'finished' --mode=predict "${tutorial[@]}"
[ "$(wc -l <ids/test_results.tsv)" = 200 ] || fail "the tutorial's predict wrote $(wc -l <ids/test_results.tsv) rows"

# Prediction uses the sequence length with which the job was trained, not the default. It does not need the meta data.
expect 0 'finished' --mode prepare --train-data-file "$sample" --model job/model --export-dir short --max-seq-length 24
expect 0 'finished' --train-data-file short/train.tf_record --eval-data-file short/eval.tf_record --model job/model \
  --input-meta-data-path short/meta_data.json --max-steps 1 --job-dir short-ids
expect 0 'finished' --mode predict --predict-data-file rows.csv --job-dir short-ids
grep -q 'taken over from the job: --max-seq-length 24' err.txt || fail "predicts at another length than it trained"

# A preparation that fails leaves the earlier files as they were.
cp tutorial/train.tf_record before.tf_record
printf 'text,label\nA ball,unheard\n' >unheard.csv
expect 3 'unheard' --mode prepare --train-data-file "$sample" --eval-data-file unheard.csv --model job/model --export-dir tutorial \
  --max-train-samples 9
cmp -s tutorial/train.tf_record before.tf_record || fail "a failed preparation replaced a file"
[ -e tutorial/meta_data.json ] || fail "a preparation that failed removed the meta data"
# One that fails while it writes leaves no new rows to train on beside old rows.
cp -r tutorial mixed
rm mixed/eval.tf_record
mkdir mixed/eval.tf_record
touch mixed/eval.tf_record/file
expect 3 'is a directory' --mode prepare --train-data-file "$sample" --model job/model --export-dir mixed --max-train-samples 9
[ ! -e mixed/train.tf_record ] || fail "new rows are beside old ones"

# --recompute gives the same weights.
expect 0 'finished' --train-data-file "$sample" --max-steps 6 --batch-size 4 --job-dir again --recompute
cmp -s job/model/model.safetensors again/model/model.safetensors || fail "recomputing changes the weights"

# Training on prepared rows gives the same weights as training on the rows themselves. The names of the labels are kept.
expect 0 'finished' --mode prepare --train-data-file "$sample" --model job/model --export-dir records --num-shards 2 \
  --compress gzip
expect 0 'finished' --mode prepare --train-data-file 'records/train.tf_record-*' --model job/model --export-dir lines \
  --input-meta-data-path records/meta_data.json --record-format jsonl --validation-split 0
head -n 1 lines/train.jsonl | says '^{"tokens":\["\[CLS\]",.*"label":"[a-z]' || fail "no tokens and label in lines"
expect 0 'finished' --train-data-file 'records/train.tf_record-*' --eval-data-file 'records/eval.tf_record-*' \
  --input-meta-data-path records/meta_data.json --max-steps 6 --batch-size 4 --job-dir from-records
cmp -s job/model/model.safetensors from-records/model/model.safetensors || fail "training on prepared rows gives other weights"
cmp -s job/model/config.json from-records/model/config.json || fail "prepared rows lose the labels' names"

# A model may be an archive, with or without a folder in it.
tar -C job -czf model.tar.gz model
(cd job/model && tar -cf ../../flat.tar .)
for archive in model.tar.gz flat.tar; do
  "$berth" --mode predict --predict-data-file rows.csv --model $archive >from-archive.txt 2>err.txt ||
    fail "$archive: $(tail -n 1 err.txt)"
  cmp -s predictions-rows.csv.txt from-archive.txt || fail "the predictions of $archive differ"
done

"$berth" --help | says -- '--train-data-file' || fail "--help"
"$berth" --version | says '^berth ' || fail "--version"
finish
