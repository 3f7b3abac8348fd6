#!/usr/bin/env python3
"""Trains tokenizers with berth and compares them with those of the reference trainers.

    python tests/peers/check_trained_tokenizers.py BERTH TOKENIZE_LINES SHARED_DATA

The texts are AG News (13,000) and SST-2 (12,000). For each type, `tokenizers` and transformers load what berth wrote, the ids of 10,000
texts and of the torture list are equal, and at least 98 % of the reference trainer's vocabulary is in berth's. The reference trainers are
those of `tokenizers` for WordPiece and byte-level BPE, and SentencePiece's for unigram. Needs
`pip install tokenizers==0.23.* sentencepiece==0.2.3 protobuf transformers pandas`.
"""
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

os.environ["TOKENIZERS_PARALLELISM"] = "false"
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "record"))

import sentencepiece  # noqa: E402
from tokenizers import BertWordPieceTokenizer, ByteLevelBPETokenizer, Tokenizer  # noqa: E402
from transformers import AutoTokenizer  # noqa: E402

from check_subword import real_texts  # noqa: E402
from torture_texts import TEXTS  # noqa: E402

VOCABULARY = 8000
LEAST_OVERLAP = 0.98
ROBERTA_TOKENS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]


def reference_wordpiece(rows):
    trainer = BertWordPieceTokenizer(lowercase=True)
    trainer.train_from_iterator(rows, vocab_size=VOCABULARY, show_progress=False)
    return set(trainer.get_vocab())


def reference_bpe(rows):
    trainer = ByteLevelBPETokenizer()
    trainer.train_from_iterator(rows, vocab_size=VOCABULARY, special_tokens=ROBERTA_TOKENS, show_progress=False)
    return set(trainer.get_vocab())


def reference_unigram(rows):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(  # it has two special tokens less
        sentence_iterator=iter(rows), model_writer=model, vocab_size=VOCABULARY - 2, minloglevel=2, max_sentence_length=1 << 20
    )
    processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    return {processor.id_to_piece(i) for i in range(processor.get_piece_size())}


REFERENCES = {"wordpiece": reference_wordpiece, "bpe": reference_bpe, "unigram": reference_unigram}


def check(kind, berth, driver, folder, rows, texts):
    file = folder / "rows.txt"
    file.write_text("".join(row + "\n" for row in rows))
    command = [berth, "--mode", "train_tokenizer", "--tokenizer-type", kind, "--vocab-size", str(VOCABULARY)]
    subprocess.run([*command, "--train-data-file", file, "--export-dir", folder], check=True, stderr=subprocess.DEVNULL)
    theirs = Tokenizer.from_file(str(folder / "tokenizer.json"))
    expected = [theirs.encode(text).ids for text in texts]
    lines = "".join(json.dumps(text) + "\n" for text in texts)
    done = subprocess.run([driver, folder], input=lines.encode(), stdout=subprocess.PIPE, check=True)
    ours = [[int(i) for i in line.split()] for line in done.stdout.decode().split("\n")[:-1]]
    auto = AutoTokenizer.from_pretrained(folder)
    wrong = sum(a != b for a, b in zip(ours, expected)) + abs(len(ours) - len(expected))
    wrong_auto = sum(auto(text)["input_ids"] != ids for text, ids in zip(texts[:2000], expected))
    special = set(ROBERTA_TOKENS)
    reference, vocabulary = REFERENCES[kind](rows) - special, set(theirs.get_vocab()) - special
    overlap = len(reference & vocabulary) / len(reference)
    print(
        f"{kind}: {len(texts) - wrong} of {len(texts)} ids equal to tokenizers, {2000 - wrong_auto} of 2000 to "
        f"{type(auto).__name__}, {auto.mask_token} masks; {100 * overlap:.2f} % of the reference's pieces",
        flush=True,
    )
    return wrong == 0 and wrong_auto == 0 and overlap >= LEAST_OVERLAP


def main():
    berth, driver, data = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    warnings.simplefilter("ignore")
    real = [" ".join(text.split()) for text in real_texts(data)]
    if not real:
        print(f"SKIPPED: no real texts at {data}")
        return 0
    texts = real[:10000] + TEXTS
    good = True
    for kind in REFERENCES:
        with tempfile.TemporaryDirectory() as folder:
            good &= check(kind, berth, driver, pathlib.Path(folder), [row for row in real if row], texts)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
