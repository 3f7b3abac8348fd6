#!/usr/bin/env bash
# Tests --mode train_tokenizer.
#   tokenizers.sh BERTH
. "$(dirname "$0")/lib.sh"

train() { "$berth" --mode train_tokenizer "$@" 2>err.txt || fail "train_tokenizer $*: $(tail -n 1 err.txt)"; }

# The bundled sample as a table, as lines, compressed and in pieces gives the same files, with any number of threads.
cat "$repository"/examples/topics/*.txt >lines.txt
train --train-data-file lines.txt --export-dir whole --vocab-size 400
grep -q 'rows of 1 file' err.txt || fail "the log does not say what was read: $(cat err.txt)"
head -n 900 lines.txt | gzip >part-1.txt.gz
tail -n +901 lines.txt | xz >part-2.txt.xz
train --train-data-file 'part-*.txt*' --job-dir parts --vocab-size 400 --threads 3
sed 's/["\\]/\\&/g; s/.*/{"text": "&"}/' lines.txt >lines.jsonl
train --train-data-file lines.jsonl --export-dir table --vocab-size 400 --threads 2
for folder in parts table; do
  for file in vocab.txt tokenizer.json tokenizer_config.json special_tokens_map.json; do
    cmp -s whole/$file $folder/$file || fail "$folder/$file differs"
  done
done
[ "$(wc -l <whole/vocab.txt)" = 400 ] || fail "the vocabulary has $(wc -l <whole/vocab.txt) pieces"
"$berth" --mode tokenize --model whole --text 'The train left' 2>&1 | says '"tokens":\["\[CLS\]","the",' ||
  fail "the tokenizer cannot be used"
train --train-data-file lines.txt --export-dir cased --vocab-size 400 --no-do-lower-case
grep -q '^T' cased/vocab.txt || fail "--no-do-lower-case has no effect"

# A byte-level tokenizer has RoBERTa's special tokens and keeps every character.
train --train-data-file lines.txt --export-dir bpe --vocab-size 600 --tokenizer-type bpe
for file in vocab.json merges.txt tokenizer.json tokenizer_config.json special_tokens_map.json; do
  [ -s bpe/$file ] || fail "no $file"
done
"$berth" --mode tokenize --model bpe --text 'The <mask> left' 2>&1 | says '"tokens":\["<s>","The","<mask>",.*"</s>"\]' ||
  fail "the byte-level tokenizer cannot be used"
expect 2 'only wordpiece makes text lower case' --mode train_tokenizer --train-data-file lines.txt --export-dir out --tokenizer-type bpe --do-lower-case

# A tagger with it is exported as it was trained, with a space before each word, and berth reads the words as before.
sed 's/"vocab_size": *[0-9]*/"vocab_size": 600/; s/"model_type": *"bert"/"model_type": "roberta"/' "$tiny/config.json" >bpe/config.json
for _ in $(seq 12); do printf 'Mary\tB-PER\nsings\tO\n,\tO\n\nso\tO\n<mask>\tO\n\n'; done >words.conll
tag=(--task ner --train-data-file words.conll --max-steps 2 --batch-size 4 --threads 1)
expect 0 finished "${tag[@]}" --model bpe --init random --job-dir tagger
cp -r tagger/model bare && cp bpe/tokenizer.json bpe/tokenizer_config.json bare
python3 - <<'PYTHON' || fail "the tagger's tokenizer adds no space in transformers"
import json
config, steps = json.load(open("tagger/model/tokenizer_config.json")), json.load(open("tagger/model/tokenizer.json"))
assert config["add_prefix_space"] is True and steps["pre_tokenizer"]["add_prefix_space"] is True
bare, own = json.load(open("bare/tokenizer.json")), steps
own["pre_tokenizer"]["add_prefix_space"] = False
assert bare == own, "more has changed"
with open("tagged.jsonl", "w") as file:
    for words in [["Mary", "sings", ",", "so"], [",", ","], ["<mask>", "x"], [" a", "", "two words"], ["\u00e9t\u00e9", "'s", "\t"]]:
        print(json.dumps({"tokens": words}), file=file)
PYTHON
for model in bare tagger/model; do
  expect 0 finished --mode predict --predict-data-file tagged.jsonl --model $model --threads 1 --predictions-file ${model%/*}.tsv
  expect 0 finished "${tag[@]}" --model $model --job-dir ${model%/*}-on
done
cmp bare.tsv tagger.tsv || fail "the exported tagger reads words in another way"
cmp bare-on/model/model.safetensors tagger-on/model/model.safetensors || fail "a continued training reads words in another way"
rm -r tagger/model tagger/metrics.json
expect 0 finished "${tag[@]}" --model bpe --init random --job-dir tagger
expect 0 finished --train-data-file "$sample" --model bpe --init random --max-steps 1 --batch-size 4 --job-dir texts
cmp bpe/tokenizer.json texts/model/tokenizer.json || fail "a model of texts has another tokenizer"

# A unigram tokenizer has XLM-RoBERTa's special tokens.
train --train-data-file lines.txt --export-dir unigram --vocab-size 600 --tokenizer-type unigram --threads 3
[ -s unigram/tokenizer.json ] && [ -s unigram/tokenizer_config.json ] || fail "no files of the unigram tokenizer"
"$berth" --mode tokenize --model unigram --text 'The <mask> left' 2>&1 | says '"tokens":\["<s>","▁The","<mask>",.*"</s>"\]' ||
  fail "the unigram tokenizer cannot be used"

# transformers 5 gives no token types for ALBERT. A warning at the first pair says so, and the finished model names its inputs.
mkdir albert && sed 's/"vocab_size": *[0-9]*/"vocab_size": 12/' "$tiny/config.json" >albert/config.json
python3 - <<'PYTHON'
import json
pieces = ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]", "\u2581", "a", "b", "\u2581a", "\u2581b", "c", "d"]
special = [{"id": i, "content": pieces[i], "single_word": False, "lstrip": i == 4, "rstrip": False, "normalized": False, "special": True} for i in range(5)]
words = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}
token = lambda name, type: {"SpecialToken": {"id": name, "type_id": type}}
text = lambda name, type: {"Sequence": {"id": name, "type_id": type}}
single = [token("[CLS]", 0), text("A", 0), token("[SEP]", 0)]
template = {"type": "TemplateProcessing", "single": single, "pair": single + [text("B", 1), token("[SEP]", 1)],
            "special_tokens": {name: {"id": name, "ids": [pieces.index(name)], "tokens": [name]} for name in ("[CLS]", "[SEP]")}}
root = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": special, "normalizer": None, "post_processor": template, "decoder": words,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, words]},
        "model": {"type": "Unigram", "unk_id": 1, "byte_fallback": False, "vocab": [[piece, -1.0] for piece in pieces]}}
json.dump(root, open("albert/tokenizer.json", "w"))
json.dump({"tokenizer_class": "AlbertTokenizer", "model_max_length": 64}, open("albert/tokenizer_config.json", "w"))
with open("pairs.csv", "w") as pairs, open("singles.csv", "w") as singles:
    pairs.write("text,text_pair,label\n")
    singles.write("text,label\n")
    for i in range(8):
        pairs.write(f"a b,b {'ab'[i % 2]},{i % 2}\n")
        singles.write(f"a {'ab'[i % 2]},{i % 2}\n")
PYTHON
short=(--max-steps 1 --batch-size 4 --validation-split 0 --threads 1)
expect 0 finished --train-data-file pairs.csv --model albert --init random --job-dir albert-pairs "${short[@]}"
grep -q 'the class AlbertTokenizer gives token types to pairs' err.txt || fail "no warning of token types"
expect 0 finished --train-data-file singles.csv --model albert --init random --job-dir albert-singles "${short[@]}"
! grep -q 'token types' err.txt || fail "a warning of token types without pairs"
for job in albert-pairs albert-singles; do
  tr -d ' \n' <$job/model/tokenizer_config.json | says -F '"model_input_names":["input_ids","token_type_ids","attention_mask"]' ||
    fail "the model of $job does not name its inputs: $(cat $job/model/tokenizer_config.json)"
done
expect 0 finished --mode predict --predict-data-file pairs.csv --model albert-pairs/model --threads 1 --predictions-file pairs.tsv
! grep -q 'token types' err.txt || fail "a warning of token types for a finished model"

# A model with this vocabulary trains from random parameters.
sed 's/"vocab_size": *[0-9]*/"vocab_size": 400/' "$tiny/config.json" >whole/config.json
"$berth" --train-data-file "$sample" --model whole --init random --max-steps 2 --batch-size 4 --validation-split 0 --job-dir job 2>err.txt ||
  fail "training with the new vocabulary: $(tail -n 1 err.txt)"
cmp -s whole/vocab.txt job/model/vocab.txt || fail "the model was exported with another vocabulary"

# Bad input gets one sentence.
printf 'a \xff\n' >damaged.txt && cat lines.txt >>damaged.txt
train --train-data-file damaged.txt --export-dir damaged
grep -q '1 malformed sequence of bytes' err.txt || fail "malformed bytes are not counted: $(cat err.txt)"
grep -q 'because no other pair occurs 2 times' err.txt || fail "a small vocabulary is not explained: $(cat err.txt)"
: >empty.txt
: >notes.md
expect 3 'no word to train a tokenizer on' --mode train_tokenizer --train-data-file empty.txt --export-dir out
expect 2 'the 5 special tokens' --mode train_tokenizer --train-data-file lines.txt --export-dir out --vocab-size 20
expect 4 'absent.txt' --mode train_tokenizer --train-data-file absent.txt --export-dir out
expect 3 'neither a text file nor a table' --mode train_tokenizer --train-data-file notes.md --export-dir out
expect 2 '--train-data-file is missing' --mode train_tokenizer --export-dir out
expect 2 '--export-dir' --mode train_tokenizer --train-data-file lines.txt
expect 2 '--min-frequency' --mode train_tokenizer --train-data-file lines.txt --export-dir out --min-frequency -1
head -c 40 part-1.txt.gz >cut.txt.gz
expect 3 'cut.txt.gz' --mode train_tokenizer --train-data-file cut.txt.gz --export-dir out
[ -e out/vocab.txt ] && fail "a failed job wrote a vocabulary"
finish
