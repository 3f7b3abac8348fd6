#!/usr/bin/env python3
"""Cleans a corpus by the rules of `berth --mode prepare --task mlm`, as a script with numpy would.

    clean_corpus.py TEXTS.jsonl KEPT.jsonl [VOCAB_DIR]

With VOCAB_DIR it also tokenizes what is kept with `tokenizers`, on one core, and packs it into 16-bit ids. Prints what each rule removed and the MB of text per second of processor time. The rules and their defaults are those of
trainer/corpus. MinHash has 128 permutations in 16 bands of 8, as datatrove and text-dedup use it; candidates are compared by their
whole signatures. English text gives the same counts as berth but for near duplicates close to the threshold.
"""
import hashlib
import json
import re
import sys
import time
import unicodedata
from collections import Counter

import numpy

CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffd]")
LINE_ENDS = re.compile("[ \t\xa0\u1680\u2000-\u200a\u202f\u205f\u3000]*[\n-\r\x85\u2028\u2029][\\s\x85]*")
BLANKS = re.compile("[ \t\xa0\u1680\u2000-\u200a\u202f\u205f\u3000]+")
WORDS = re.compile(r"[^\W_]+")
PERMUTATIONS, ROWS = 128, 8
GENERATOR = numpy.random.RandomState(1)
FACTORS = GENERATOR.randint(1, 1 << 32, PERMUTATIONS, dtype=numpy.uint64) | numpy.uint64(1)
SUMMANDS = GENERATOR.randint(0, 1 << 32, PERMUTATIONS, dtype=numpy.uint64)


def normalized(text):
    text = CONTROLS.sub("", text)
    return unicodedata.normalize("NFC", BLANKS.sub(" ", LINE_ENDS.sub("\n", text))).strip()


def repeats(text, words):
    """Gopher's rules (Rae et al. 2021, table A1)."""
    lines = text.split("\n")
    if len(lines) > 1:
        seen, repeated, size = set(), 0, 0
        for line in lines:
            if line in seen:
                repeated, size = repeated + 1, size + len(line.encode())
            seen.add(line)
        if repeated / len(lines) > 0.30 or size / len(text.encode()) > 0.20:
            return True
    characters = sum(map(len, words))
    if len(words) >= 50:
        for n, limit in ((2, 0.20), (3, 0.18), (4, 0.16)):
            counts = Counter(zip(*(words[i:] for i in range(n))))
            most = max((count * sum(map(len, gram)) for gram, count in counts.items() if count > 1), default=0)
            if most == 0:
                return False
            if most / characters > limit:
                return True
    for n, limit in zip(range(5, 11), (0.15, 0.14, 0.13, 0.12, 0.11, 0.10)):
        seen, counted, repeated = set(), 0, 0
        for i, gram in enumerate(zip(*(words[i:] for i in range(n)))):
            if gram in seen:
                repeated += sum(map(len, words[max(counted, i):i + n]))
                counted = i + n
            seen.add(gram)
        if repeated == 0:
            return False
        if repeated / characters > limit:
            return True
    return False


def signature(words):
    n = min(5, len(words))
    shingles = {" ".join(words[i:i + n]) for i in range(len(words) - n + 1)}
    hashes = numpy.array([int.from_bytes(hashlib.sha1(s.encode()).digest()[:4], "little") for s in shingles], dtype=numpy.uint64)
    values = (hashes[:, None] * FACTORS + SUMMANDS) & numpy.uint64(0xFFFFFFFF)
    return values.min(axis=0).astype(numpy.uint32)


def clean(documents):
    removed, equal, bands = Counter(), set(), [{} for _ in range(PERMUTATIONS // ROWS)]
    signatures = []
    for document in documents:
        text = normalized(document)
        words = WORDS.findall(text.lower())
        visible = sum(map(len, text.split()))
        if len(text) < 32:
            removed["too_short"] += 1
        elif len(words) < 5:
            removed["too_few_words"] += 1
        elif sum(map(str.isalpha, text)) / visible < 0.6:
            removed["too_few_letters"] += 1
        elif repeats(text, words):
            removed["repetitive"] += 1
        else:
            digest = hashlib.md5(text.encode()).digest()
            if digest in equal:
                removed["duplicate"] += 1
                continue
            equal.add(digest)
            minima = signature(words)
            keys = [minima[i:i + ROWS].tobytes() for i in range(0, PERMUTATIONS, ROWS)]
            candidates = {index for band, key in zip(bands, keys) for index in band.get(key, ())}
            if any((signatures[index] == minima).mean() >= 0.8 for index in candidates):
                removed["near_duplicate"] += 1
                continue
            for band, key in zip(bands, keys):
                band.setdefault(key, []).append(len(signatures))
            signatures.append(minima)
            yield text
    clean.removed = removed


def pack(texts, folder):
    from tokenizers import BertWordPieceTokenizer
    lowercase = "uncased" in folder
    tokenizer = BertWordPieceTokenizer(folder + "/vocab.txt", lowercase=lowercase, strip_accents=lowercase)
    start = time.process_time()
    encode = getattr(tokenizer._tokenizer, "encode_batch_fast", tokenizer._tokenizer.encode_batch)
    tokens = 0
    for begin in range(0, len(texts), 1000):
        encodings = encode(texts[begin:begin + 1000])
        ids = numpy.concatenate([numpy.array(e.ids, dtype=numpy.uint16) for e in encodings])
        tokens += len(ids.tobytes()) // 2
    seconds = time.process_time() - start
    size = sum(len(text.encode()) for text in texts)
    print(f"{tokens} tokens in {seconds:.1f} s of processor time: {1e-6 * size / seconds:.2f} MB/s")


def main():
    size = 0
    start = time.process_time()
    kept = []
    with open(sys.argv[1], encoding="utf-8") as source, open(sys.argv[2], "w", encoding="utf-8") as out:
        def documents():
            nonlocal size
            for line in source:
                text = json.loads(line)["text"]
                size += len(text.encode())
                yield text
        for text in clean(documents()):
            out.write(json.dumps({"text": text}, ensure_ascii=False) + "\n")
            kept.append(text)
    seconds = time.process_time() - start
    print(f"kept {len(kept)}, removed {dict(clean.removed)}")
    print(f"{1e-6 * size:.1f} MB in {seconds:.1f} s of processor time: {1e-6 * size / seconds:.2f} MB/s")
    if len(sys.argv) > 3:
        pack(kept, sys.argv[3])


if __name__ == "__main__":
    main()
