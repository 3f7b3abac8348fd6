#!/usr/bin/env python3
"""Times berth's training of tokenizers beside that of `tokenizers` and SentencePiece, on one core each.

    RAYON_NUM_THREADS=1 python bench/peer/train_tokenizers.py BERTH TEXTS [VOCABULARY [TURNS]]

TEXTS has one text a line. In one turn each program reads the file, trains and writes its files. The rate is the size of the file divided
by the processor time, and the memory is the largest resident set of the process. Needs
`pip install tokenizers==0.23.* sentencepiece==0.2.3`.
"""
import os
import resource
import statistics
import subprocess
import sys
import tempfile

PEERS = {
    "wordpiece": "from tokenizers import BertWordPieceTokenizer as T\n"
    "t = T(lowercase=True)\n"
    "t.train(texts, vocab_size=size, show_progress=False)\n"
    "t.save(folder + '/tokenizer.json')",
    "bpe": "from tokenizers import ByteLevelBPETokenizer as T\n"
    "t = T()\n"
    "t.train(texts, vocab_size=size, show_progress=False, special_tokens=['<s>', '<pad>', '</s>', '<unk>', '<mask>'])\n"
    "t.save(folder + '/tokenizer.json')",
    "unigram": "import sentencepiece\n"
    "sentencepiece.SentencePieceTrainer.train(input=texts, model_prefix=folder + '/m', vocab_size=size,\n"
    "    num_threads=1, minloglevel=2, max_sentence_length=1 << 20)",
}


def run(command):
    """The processor time in seconds and the peak memory in MiB of a command."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"failed: {command}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    berth, texts = sys.argv[1], sys.argv[2]
    size, turns = (list(map(int, sys.argv[3:])) + [8192, 3][len(sys.argv) - 3 :])[:2]
    megabytes = os.path.getsize(texts) / 1e6
    print(f"{megabytes:.1f} MB, {size} pieces, {turns} turns, {resource.getpagesize()}-byte pages")
    for kind, code in PEERS.items():
        ours, theirs = [], []
        for _ in range(turns):
            with tempfile.TemporaryDirectory() as folder:
                flags = ["--train-data-file", texts, "--export-dir", folder, "--vocab-size", str(size), "--threads", "1"]
                ours.append(run([berth, "--mode", "train_tokenizer", "--tokenizer-type", kind, *flags]))
                script = f"texts, folder, size = {texts!r}, {folder!r}, {size}\n{code}"
                theirs.append(run([sys.executable, "-c", script]))
        for name, results in (("berth", ours), ("peer", theirs)):
            rates = ", ".join(f"{megabytes / seconds:.2f}" for seconds, _ in results)
            print(f"{kind:10} {name:6} {rates} MB/s, {max(memory for _, memory in results):.0f} MiB")
        ratio = statistics.median(seconds for seconds, _ in theirs) / statistics.median(seconds for seconds, _ in ours)
        print(f"{kind:10} ratio  {ratio:.1f}", flush=True)


if __name__ == "__main__":
    main()
