#!/usr/bin/env bash
# Compares berth's tokenizers with Hugging Face's `tokenizers` on one core, in alternating turns. For a folder with only a .model file it
# compares with libsentencepiece.
#
#   bash bench/peer/tokenize.sh PYTHON TEXTS FOLDER...
#
# PYTHON must have tokenizers and sentencepiece. Each line of TEXTS is a text. Prints the tokens per second of processor time for both.
# Neither computes offsets (`encode_batch_fast`).
set -euo pipefail
cd "$(dirname "$0")/../.."
python=$1 texts=$2
shift 2
grep -m 1 'model name' /proc/cpuinfo
for folder in "$@"; do
  echo "$folder"
  build/release/bench/tokenizer_bench "$folder" "$texts"
  RAYON_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false "$python" - "$folder" "$texts" <<'PYTHON'
import pathlib, statistics, sys, time

folder, texts = pathlib.Path(sys.argv[1]), open(sys.argv[2], encoding="utf-8").read().split("\n")
models = sorted(folder.glob("*.model"))
if (folder / "tokenizer.json").exists():
    from tokenizers import Tokenizer
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    encode = lambda: [e.ids for e in tokenizer.encode_batch_fast(texts)]
elif (folder / "vocab.txt").exists():
    from tokenizers import BertWordPieceTokenizer
    lowercase = "uncased" in folder.name
    tokenizer = BertWordPieceTokenizer(str(folder / "vocab.txt"), lowercase=lowercase, strip_accents=lowercase)
    encode = lambda: [e.ids for e in tokenizer._tokenizer.encode_batch_fast(texts)]
else:
    import sentencepiece
    processor = sentencepiece.SentencePieceProcessor(model_file=str(models[0]))
    encode = lambda: processor.encode(texts)
seconds = []
for _ in range(5):
    start = time.process_time()
    ids = encode()
    seconds.append(time.process_time() - start)
tokens, median = sum(map(len, ids)), statistics.median(seconds)
print(f"theirs  tokens={tokens}  {1e3 * median:.2f} ms  {1e-6 * tokens / median:.1f} Mtokens/s")
PYTHON
done
