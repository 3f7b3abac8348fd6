#!/usr/bin/env bash
# Runs --mode embed and checks what it writes.
#   embed.sh BERTH
. "$(dirname "$0")/lib.sh"

printf 'id,text,label\nx,A ball was kicked,sport\ny,"Bread, with butter",food\nz,The train left,travel\n' >rows.csv
embed=(--mode embed --predict-data-file rows.csv --model "$tiny")

# An array of float32 with a row for each text: a header of 128 bytes, then 3 x 128 numbers.
expect 0 finished "${embed[@]}" --job-dir job
[ "$(wc -c <job/embeddings.npy)" = $((128 + 3 * 128 * 4)) ] || fail "size of embeddings.npy: $(wc -c <job/embeddings.npy)"
head -c 128 job/embeddings.npy | says -F "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 128), }" || fail "header of .npy"
grep -qF 'pooling mean, texts of at most 128 tokens' err.txt || fail "does not say how texts are embedded"

# The numbers of a .npy file, one a line; those of lines of JSON are shorter, so both are printed alike.
numbers() { tail -c +129 "$1" | od -An -v -t f4 -w4 | awk '{ printf "%.6f\n", $1 }'; }
json_numbers() { sed 's/.*\[//; s/\].*//; s/, /\n/g' "$1" | awk '{ printf "%.6f\n", $1 }'; }
expect 0 finished "${embed[@]}" --embeddings-format jsonl --predictions-file out.jsonl
[ "$(cut -c1-24 out.jsonl | tr '\n' ' ')" = '{"id": "x", "embedding": {"id": "y", "embedding": {"id": "z", "embedding": ' ] ||
  fail "ids of embeddings.jsonl: $(cut -c1-24 out.jsonl)"
cmp -s <(numbers job/embeddings.npy) <(json_numbers out.jsonl) || fail "npy and jsonl hold other numbers"
expect 0 finished "${embed[@]}" --embeddings-format jsonl
cmp -s out.txt out.jsonl || fail "standard output differs from the file"

# berth reads the Parquet file that it writes.
expect 0 finished "${embed[@]}" --predictions-file named.jsonl
cmp named.jsonl out.jsonl || fail "the name of the file does not choose the format"
expect 0 finished "${embed[@]}" --embeddings-format parquet --job-dir job
expect 0 finished "${embed[@]}" --predictions-file named.parquet
cmp named.parquet job/embeddings.parquet || fail "the name of the file does not choose Parquet"
expect 2 'embeddings are not compressed' "${embed[@]}" --predictions-file named.jsonl.gz
"$berth" --mode inspect job/embeddings.parquet >out.txt 2>err.txt || fail "inspect: $(tail -n 1 err.txt)"
grep -q embedding out.txt && grep -q '^id\| id' out.txt || fail "columns of embeddings.parquet: $(cat out.txt)"

# Batches do not change a text's vector, whatever else is in the file.
expect 0 finished "${embed[@]}" --predictions-file single.npy --eval-batch-size 1
paste <(numbers single.npy) <(numbers job/embeddings.npy) |
  awk '{ d = $1 - $2; if (d < -1e-4 || d > 1e-4) bad = 1 } END { exit bad }' || fail "the vectors depend on the batches"

# Poolings differ. Vectors of length 1 have squares that add up to 1.
for pooling in mean cls max; do
  expect 0 finished "${embed[@]}" --predictions-file $pooling.npy --pooling $pooling
done
cmp -s mean.npy job/embeddings.npy || fail "mean is not the default"
cmp -s mean.npy cls.npy && fail "cls is mean"
cmp -s cls.npy max.npy && fail "max is cls"
expect 0 finished "${embed[@]}" --predictions-file unit.npy --normalize-embeddings
numbers unit.npy | awk '{ s += $1 * $1 } NR % 128 == 0 { if (s < 0.9999 || s > 1.0001) bad = 1; s = 0 } END { exit bad }' ||
  fail "the vectors have other lengths than 1"

# A folder of sentence-transformers says how. Flags say otherwise.
mkdir -p st/0_Transformer st/1_Pooling
cp "$tiny"/* st/0_Transformer
echo '{"max_seq_length": 16, "do_lower_case": false}' >st/0_Transformer/sentence_bert_config.json
echo '[{"path": "0_Transformer", "type": "sentence_transformers.models.Transformer"},
  {"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
  {"path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}]' >st/modules.json
echo '{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}' >st/1_Pooling/config.json
expect 0 finished --mode embed --predict-data-file rows.csv --model st --predictions-file st.npy
grep -qF 'pooling cls, scaled to length 1, texts of at most 16 tokens' err.txt || fail "does not heed the folder: $(cat err.txt)"
expect 0 finished --mode embed --predict-data-file rows.csv --model st --predictions-file st.npy --pooling mean \
  --no-normalize-embeddings --max-seq-length 128
cmp -s st.npy job/embeddings.npy || fail "flags do not replace what the folder says"

# A folder of files holds the same vectors. A killed job leaves some of the files, and the next one writes the others.
parts=("${embed[@]}" --embeddings-file-rows 2)
expect 0 finished "${parts[@]}" --job-dir parts
says_there() { grep -qF "$1" err.txt || fail "does not say '$1': $(cat err.txt)"; }
says_there 'has 2 files of embeddings, of which 0 were there already'
[ "$(cd parts/embeddings && ls | tr '\n' ' ')" = '_manifest.json _plan.json part-00000-of-00002.npy part-00001-of-00002.npy ' ] ||
  fail "files of the folder: $(ls parts/embeddings)"
paste <(for part in parts/embeddings/part-*; do numbers "$part"; done) <(numbers job/embeddings.npy) |
  awk '{ d = $1 - $2; if (d < -1e-4 || d > 1e-4) bad = 1 } END { exit bad || NR != 384 }' ||
  fail "the files hold other numbers than one file"
cp -r parts whole
rm parts/embeddings/part-00001-of-00002.npy parts/embeddings/_manifest.json
touch -d '2001-01-01' parts/embeddings/part-00000-of-00002.npy
expect 0 finished "${parts[@]}" --job-dir parts
says_there 'of which 1 was there already'
diff -r parts whole >&2 || fail "a job that went on left other files"
[ "$(stat --format %y parts/embeddings/part-00000-of-00002.npy | cut -c1-4)" = 2001 ] || fail "a finished file is written again"
expect 5 'embeddings of other rows' "${parts[@]}" --job-dir parts --pooling cls
cp -r parts unplanned
rm unplanned/embeddings/_plan.json
expect 5 'without the plan' "${parts[@]}" --job-dir unplanned --pooling cls
expect 5 'embeddings of other rows' "${embed[@]}" --embeddings-file-rows 1 --job-dir parts
sed 's/ball/stone/' rows.csv >others.csv
expect 5 'embeddings of other rows' "${parts[@]}" --job-dir parts --predict-data-file others.csv

# Other columns, other ids and another precision have other vectors.
printf 'name,title,text\nx,A cat,A dog\ny,A tree,A house\n' >columns.csv
columns=(--mode embed --predict-data-file columns.csv --model "$tiny" --embeddings-file-rows 1 --precision fp32 --text-column title)
expect 0 finished "${columns[@]}" --job-dir columns
expect 5 'embeddings of other rows' "${columns[@]}" --job-dir columns --text-column text
expect 5 'embeddings of other rows' "${columns[@]}" --job-dir columns --id-column name
expect 5 'embeddings of other rows' "${columns[@]}" --job-dir columns --precision int8

# Whole numbers of eight bits: int8 goes from -128 to 127 in each number, and a bit is the sign of a number.
bytes() { tail -c +129 "$1" | od -An -v -t "$2" -w1 | awk '{ print $1 }'; }
expect 0 finished "${embed[@]}" --job-dir job --embeddings-type int8 --predictions-file int8.npy
says -F 'ranges of 3 rows hardly say what other texts have' <err.txt || fail "does not warn of ranges of few rows"
[ "$(wc -c <int8.npy)" = $((128 + 3 * 128)) ] || fail "size of int8.npy: $(wc -c <int8.npy)"
bytes int8.npy d1 | awk '$1 == -128 { low[NR % 128] = 1 } $1 == 127 || $1 == 126 { high[NR % 128] = 1 }
  END { exit !(length(low) == 128 && length(high) == 128) }' || fail "int8 does not use its range in each number"
# The middle of a step is near the number that it stands for.
paste <(numbers job/embeddings.npy) <(bytes int8.npy d1) >pairs.txt
numbers int8.npy.ranges.npy | awk '
  NR == FNR { range[NR - 1] = $1; next }
  { low = range[(FNR - 1) % 128]; step = (range[128 + (FNR - 1) % 128] - low) / 255
    d = low + ($2 + 128.5) * step - $1; if (d > step || d < -step) bad = 1 }
  END { exit bad || FNR != 384 }' - pairs.txt ||
  fail "int8 and its ranges do not give the numbers back"
expect 0 finished "${embed[@]}" --embeddings-type ubinary --predictions-file bits.npy
cmp -s <(bytes bits.npy u1) <(numbers job/embeddings.npy | awk '{ b = b * 2 + ($1 > 0) } NR % 8 == 0 { print b; b = 0 }') ||
  fail "ubinary are not the signs"
expect 0 finished "${embed[@]}" --embeddings-type binary --embeddings-format jsonl --predictions-file bits.jsonl
cmp -s <(json_numbers bits.jsonl) <(bytes bits.npy u1 | awk '{ printf "%.6f\n", $1 - 128 }') || fail "binary is not ubinary less 128"
expect 0 finished "${parts[@]}" --job-dir parts8 --embeddings-type int8
cp -r parts8 whole8
rm parts8/embeddings/part-00000-of-00002.npy
expect 0 finished "${parts[@]}" --job-dir parts8 --embeddings-type int8
says_there 'of which 1 was there already'
grep -q 'are taken from' err.txt && fail "a job that goes on computes the ranges again"
diff -r parts8 whole8 >&2 || fail "int8 of a job that went on differs"

# What is refused.
expect 2 'several files do not go to standard output' "${embed[@]}" --embeddings-file-rows 2
# One row has no ranges.
printf 'text\none row\n' >one.csv
expect 2 'the numbers of one row have no range' --mode embed --predict-data-file one.csv --model "$tiny" --embeddings-type int8 --predictions-file one.npy
expect 2 'need a file beside' "${embed[@]}" --embeddings-type int8 --embeddings-format jsonl
expect 2 'eight bits in four bytes' "${embed[@]}" --embeddings-type int8 --embeddings-format parquet --job-dir job
expect 2 'multiple of 8' "${embed[@]}" --embeddings-type binary --truncate-dim 12 --job-dir job
expect 2 'standard output' "${embed[@]}"
expect 2 '--predict-data-file is missing' --mode embed --model "$tiny" --job-dir job
expect 2 'only for --mode predict, embed and mine' --mode eval --eval-data-file rows.csv --model "$tiny" --predictions-file mine.npy
finish
