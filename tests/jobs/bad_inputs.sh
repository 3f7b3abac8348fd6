#!/usr/bin/env bash
# Checks that every bad input ends the job with the right exit code and one sentence, and that nothing half-written remains.
#   bad_inputs.sh BERTH
. "$(dirname "$0")/lib.sh"

# train CODE SENTENCE FILE [FLAGS...]: trains on FILE and expects the exit code, a part of the sentence, and no files in the job directory.
train() {
  local code=$1 says=$2 file=$3
  shift 3
  expect "$code" "$says" --train-data-file "$file" --job-dir job "$@"
  [ ! -e job/job.json ] && [ ! -e job/model ] || fail "$file: the refused job left files behind"
  rm -rf job
}

printf 'text,label\ngood,1\nbad,2\nfine,1\npoor,2\n' >good.csv

# Data: a file that cannot be trained on gives code 3, an absent file gives code 4.
train 4 'no such file' nosuch.csv
: >empty.csv && train 3 'is empty' empty.csv
: >empty.pickle && train 3 'is empty' empty.pickle
mkdir folder.csv && train 3 'is a directory' folder.csv
printf 'text,label\n' >header.csv && train 3 'has no rows; give a file with rows' header.csv
echo 'hello' >not.pickle && train 3 'not.pickle' not.pickle
# This pickle would call os.system("touch pwned").
printf 'cos\nsystem\n(S'"'"'touch pwned'"'"'\ntR.' >evil.pickle
train 3 'os.system' evil.pickle
[ ! -e pwned ] || fail "a pickle was executed"
printf 'cpandas\neval\n(S'"'"'1'"'"'\ntR.' >eval.pickle && train 3 'pandas.eval' eval.pickle
head -c 20000 "$sample" >truncated.pickle && train 3 'truncated.pickle' truncated.pickle
{ head -c 200 "$sample"; printf '\377\377\377\377'; tail -c +205 "$sample"; } >flipped.pickle
train 3 'flipped.pickle' flipped.pickle
gzip -c "$sample" >whole.gz && head -c 15000 whole.gz >cut.pickle.gz && train 3 'cut.pickle.gz' cut.pickle.gz
printf 'words,label\na,1\nb,2\n' >words.csv
train 3 'no column "text"' words.csv --text-column text
train 3 'no column "kind"' good.csv --label-column kind
printf 'text,label\na,1\nb\n' >ragged.csv && train 3 'line 3' ragged.csv
printf 'text,label\na,1\n\377\376,2\n' >latin.csv && train 3 'line 3' latin.csv
printf 'text,label\na,1\nb,\n' >missing.csv && train 3 'line 3' missing.csv
printf 'text,label\na,1\nb,nan\n' >nan.csv && train 3 'line 3' nan.csv
printf 'text,label\na,1\nb,0.25\n' >score.csv
expect 3 'pass --task regression' --train-data-file score.csv --task classification --job-dir job
expect 3 'line 3' --train-data-file missing.csv --task regression --job-dir job
printf 'a O\nb\n' >words.conll && train 3 'has 1 field' words.conll
printf '{"tokens": ["a", "b"], "tags": ["O"]}\n' >words.jsonl && train 3 '2 words, but 1 tag' words.jsonl
printf '{"data": [{"paragraphs": [{"context": "c", "qas": [{"id": "1", "answers": []}]}]}]}' >squad.json && train 3 'no "question"' squad.json
expect 2 'is not a task' --train-data-file good.csv --task translation --job-dir job
expect 2 'needs a GLUE task' --data-dir . --job-dir job
expect 4 'train.tsv' --data-dir . --task mrpc --job-dir job
printf 'text,label\na,1\nb,1\n' >single.csv && train 3 'two classes' single.csv
printf '{"text": "a", "label": 1}\n{"text": \n' >cut.jsonl && train 3 'line 2' cut.jsonl
cp good.csv data.xlsx && train 3 'data.xlsx' data.xlsx

# Wrong flags and configurations give code 2.
train 2 '--epochs' good.csv --epochs 0
train 2 '--learning-rate' good.csv --learning-rate -1
train 2 '--batch-size' good.csv --batch-size 0
train 2 'both name column "a"' good.csv --text-column a --label-column a
train 2 '--train-data-file' good.csv --trian-data-file x
train 2 '"f1_micro" is not a metric' good.csv --metric-for-best-model f1_micro
train 2 'fewer than 99' good.csv --freeze-encoder-layers 99
train 2 'never evaluates' good.csv --mode train --early-stopping-patience 2
train 2 'never evaluates' good.csv --mode train --hypertune-metric loss
train 2 'no rows to evaluate on' good.csv --validation-split 0 --load-best-model-at-end
train 2 'used twice' good.csv --text-column label
train 2 'ftp' ftp://host/data.csv
train 2 'positions' good.csv --max-seq-length 100000
cp -r "$tiny" model
{ cat model/vocab.txt; echo extra; } >longer.txt
train 2 'vocab_size' good.csv --model model --vocab-file longer.txt
sed 's/"hidden_size": 128/"hidden_size": 129/' "$tiny/config.json" >model/config.json
train 2 'hidden_size' good.csv --model model
expect 2 '--job-dir' --train-data-file good.csv

# An error of the command line heeds --log-format, too.
for format in --log-format=text --log_format=text; do
  "$berth" --train-data-file good.csv --job-dir job --batch-size 0 $format 2>err.txt
  grep -q '^berth: --batch-size: ' err.txt || fail "$format: an error of the command line is no sentence: $(cat err.txt)"
done

# A flag that is missing is shown in a whole command of the mode.
expect 2 '--mode convert needs it, as in: berth convert --model MODEL --export-dir converted' convert --model "$tiny"
"$berth" predict --help >out.txt || fail "predict --help: exit $?"
grep -q '^  berth predict --predict-data-file' out.txt || fail "the help of predict shows no command"
grep -q '^  --learning-rate' out.txt && fail "the help of predict shows flags of a training"

# Without any argument berth shows how to begin and still says what is missing.
expect 2 '--train-data-file is missing'
grep -q '^  berth --train-data-file' out.txt || fail "berth alone shows no first command"
AIP_MODEL_DIR=out expect 2 '--train-data-file is missing'
[ -s out.txt ] && fail "a job of a platform gets a greeting: $(cat out.txt)"

# Lines for other programs are explained, and run as they are where nothing stands in the way.
line='run_glue.py --train_file good.csv --output_dir run --do_train --max_steps 2 --adafactor'
expect 2 '"where":"--adafactor"' explain "python $line"
grep -q '^berth --train-data-file good.csv --job-dir run ' out.txt || fail "no line for berth: $(cat out.txt)"
grep -q -- '--adafactor is left out: .*--optimizer adamw' out.txt || fail "does not say what helps: $(cat out.txt)"
printf 'python %s' "${line% --adafactor}" | timeout 60 "$berth" explain - >out.txt 2>err.txt || fail "explain: $(tail -n 1 err.txt)"
[ -s err.txt ] && fail "an explanation that is all says more: $(cat err.txt)"
timeout 60 bash -c "PATH=$(dirname "$berth"):\$PATH; $(sed '/^$/,$d' out.txt)" >/dev/null 2>err.txt || fail "its line: $(tail -n 1 err.txt)"
[ -f run/metrics.json ] || fail "the explained line trained nothing"
expect 2 'no training script' explain ls

# Models: an absent one gives code 4, a damaged one gives code 3.
train 4 'there is no such folder here, and the ' good.csv --model nosuch
train 4 'no such file' good.csv --model nosuch.tar.gz
cp "$tiny"/* model/
head -c 100000 "$tiny/model.safetensors" >model/model.safetensors
train 3 'model.safetensors' good.csv --model model
sed 's/"num_hidden_layers": 2/"num_hidden_layers": 1/' "$tiny/config.json" >model/config.json
cp "$tiny/model.safetensors" model/
train 3 'bert.encoder.layer.1' good.csv --model model
tar -C "$repository/examples" -czf model.tar.gz model
head -c 200000 model.tar.gz >cut.tar.gz && train 3 'cut.tar.gz' good.csv --model cut.tar.gz
size=$(stat -c %s model.tar.gz)
{ head -c $((size / 2)) model.tar.gz; printf '\125\252'; tail -c +$((size / 2 + 3)) model.tar.gz; } >flipped.tar.gz
train 3 'flipped.tar.gz' good.csv --model flipped.tar.gz
mkdir escape && (cd escape && echo x >x && tar -cPf ../escape.tar ../good.csv)
train 3 'escape.tar' good.csv --model escape.tar

# Job directories: a read-only one gives code 4, a disk that is too small code 2, and full_disk.sh tries what a full one gives.
if [ "$(id -u)" = 0 ]; then
  mkdir -p mount
  if mount -t tmpfs -o ro,size=1m none mount 2>/dev/null; then
    expect 4 'mount' --train-data-file good.csv --job-dir mount
    umount mount
    mount -t tmpfs -o size=2m none mount
    expect 2 'the file system holds 2.0 MiB' --train-data-file good.csv --job-dir mount --max-steps 1
    [ -z "$(find mount -type f)" ] || fail "a refused job has written $(find mount -type f)"
    umount mount
  else
    echo "SKIPPED: read-only and full job directories (this sandbox mounts no tmpfs)"
  fi
  chmod 755 "$scratch" && mkdir -m 755 locked
  if setpriv --reuid=65534 --clear-groups test -x "$berth" && setpriv --reuid=65534 --clear-groups test -r "$sample"; then
    setpriv --reuid=65534 --clear-groups "$berth" --train-data-file "$scratch/good.csv" \
      --job-dir "$scratch/locked/job" >out.txt 2>err.txt
    [ $? = 4 ] || fail "a locked job directory: $(tail -n 1 err.txt)"
  else
    echo "SKIPPED: a locked job directory (another user cannot read this checkout)"
  fi
else
  mkdir -m 555 locked && expect 4 'locked' --train-data-file good.csv --job-dir locked/job
  echo "SKIPPED: a full job directory (mounting one takes root)"
fi
# A model that fits into no machine is refused before its memory is allocated. A dry run prints the memory that it would need.
sed 's/"hidden_size": *[0-9]*/"hidden_size": 16384/; s/"num_hidden_layers": *[0-9]*/"num_hidden_layers": 1000/' \
  "$tiny/config.json" >huge.json
huge=(--init random --model "$tiny" --model-config huge.json)
train 14 'not even one example at a time fits' "$sample" "${huge[@]}"
train 14 'the job needs up to' "$sample" "${huge[@]}" --dry-run
grep -q '^activations ' out.txt || fail "no estimate before the complaint"

# What cannot be written is said, and a file size limit ends a job as a full disk does.
"$berth" --help >/dev/full 2>err.txt && fail "--help to a full disk ends with 0"
grep -q '"code":10,' err.txt || fail "--help to a full disk: $(tail -n 1 err.txt)"
"$berth" --help 2>err.txt > >(head -n 1 >/dev/null)
[ ! -s err.txt ] || fail "--help whose reader stops early complains: $(cat err.txt)"
(failures=0; ulimit -f 64; expect 10 'ulimit -f' --train-data-file "$sample" --job-dir limited --max-steps 2; exit "$failures") ||
  fail "a file size limit"
finish
