#!/usr/bin/env python3
"""Makes the files of the bundled model except its parameters: vocab.txt, config.json and tokenizer_config.json in examples/model.

The vocabulary is an uncased WordPiece that is learnt from examples/corpus alone, so that the model has not seen the held-out
texts of the sample. Every printable ASCII character is a piece, also within a word, so plain English never becomes [UNK].
scripts/make-default-model.sh calls this script. It needs `tokenizers`.
"""

import collections
import json
import pathlib
import string

from tokenizers import normalizers, pre_tokenizers

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "examples"
SPECIAL_TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]

CONFIG = {
    "architectures": ["BertModel"],
    "model_type": "bert",
    "hidden_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 512,
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1,
    "attention_probs_dropout_prob": 0.1,
    "max_position_embeddings": 128,
    "type_vocab_size": 2,
    "initializer_range": 0.02,
    "layer_norm_eps": 1e-12,
    "pad_token_id": 0,
}


def word_counts(texts):
    normalizer = normalizers.BertNormalizer(lowercase=True)
    splitter = pre_tokenizers.BertPreTokenizer()
    return collections.Counter(
        word for text in texts
        for word, _ in splitter.pre_tokenize_str(normalizer.normalize_str(text)))


def learn(counts):
    """Merges the most frequent pair of pieces until no pair occurs twice, as the trainer of `tokenizers` does.

    That trainer is not used because it breaks ties by hash order, so that each run gives other pieces.
    """
    words = {word: [word[0]] + ["##" + c for c in word[1:]] for word in sorted(counts)}
    pieces = sorted({piece for split in words.values() for piece in split})
    pairs, homes = collections.Counter(), collections.defaultdict(set)

    def count(word, sign):
        for pair in zip(words[word], words[word][1:]):
            pairs[pair] += sign * counts[word]
            homes[pair].add(word)

    for word in words:
        count(word, 1)
    while True:
        left, right = best = max(pairs, key=lambda pair: (pairs[pair], pair))
        if pairs[best] < 2:
            return pieces
        merged = left + right.removeprefix("##")
        for word in homes.pop(best):
            count(word, -1)
            split = words[word]
            at = 0
            while at + 1 < len(split):
                if (split[at], split[at + 1]) == best:
                    split[at:at + 2] = [merged]
                at += 1
            count(word, 1)
        del pairs[best]
        if merged not in pieces:
            pieces.append(merged)


def main():
    texts = [line for file in sorted((EXAMPLES / "corpus").glob("*.txt"))
             for line in file.read_text(encoding="utf-8").splitlines()]
    pieces = SPECIAL_TOKENS + learn(word_counts(texts))
    alphabet = [c for c in string.printable.lower() if not c.isspace()]
    letters = alphabet + ["##" + c for c in alphabet if c.isalnum()]
    pieces += [piece for piece in dict.fromkeys(letters) if piece not in set(pieces)]

    model = EXAMPLES / "model"
    model.mkdir(exist_ok=True)
    (model / "vocab.txt").write_text("\n".join(pieces) + "\n", encoding="utf-8")
    config = CONFIG | {"vocab_size": len(pieces)}
    (model / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    tokenizer_config = {"tokenizer_class": "BertTokenizer", "do_lower_case": True,
                        "model_max_length": CONFIG["max_position_embeddings"]}
    (model / "tokenizer_config.json").write_text(
        json.dumps(tokenizer_config, indent=2) + "\n", encoding="utf-8")
    print(f"{model}: {len(pieces)} pieces from {len(texts)} texts")


if __name__ == "__main__":
    main()
