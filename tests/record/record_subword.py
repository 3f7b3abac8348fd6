#!/usr/bin/env python3
"""Records ids and offsets of subword tokenizers on the torture list: tests/testdata/tokenizer.tar.

    python tests/record/fixtures.py tokenizer record_subword.py

The script trains small vocabularies on the torture list itself, so that all files are ours. Needs
`pip install tokenizers==0.23.* sentencepiece==0.2.3 protobuf`.
"""
import base64
import json
import pathlib
import sys
import tempfile

import sentencepiece
from sentencepiece import sentencepiece_model_pb2
from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

from torture_texts import TEXTS, random_texts

OUTPUT = pathlib.Path(sys.argv[1])
CORPUS = [t.replace("\n", " ").replace("\0", " ") for t in TEXTS if 2 < len(t) < 200] + [
    "the tokens of the text are the parts of the words that the model has seen in the texts",
    "stronger strongest lower lowest newer newest wider widest low new wide strong",
]
INPUTS = TEXTS + random_texts(60, seed=11)
RULES = {"Ａ": "A", "Ｂ": "B", "ﬁ": "fi", "½": "1/2", "\u00a0": " ", "\t": " ", "\n": " ", "\r": " ", "\u3000": " ",
         "e\u0301": "é", "\u200b": "", "ｱ": "ア", "…": "..."}  # fmt: skip
SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]


def write(name, rows):
    (OUTPUT / name).parent.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows)
    (OUTPUT / name).write_text(f"[\n{lines}\n]\n")


def row(text, ids, offsets):
    return {"bytes": text.encode().hex(), "tokens": " ".join(f"{i}:{a}-{b}" for i, (a, b) in zip(ids, offsets))}


def record(name, tokenizer):
    (OUTPUT / name).mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(OUTPUT / name / "tokenizer.json"), pretty=False)
    encodings = [tokenizer.encode(t) for t in INPUTS]
    write(f"{name}/singles.json", [row(t, e.ids, e.offsets) for t, e in zip(INPUTS, encodings)])
    pair = tokenizer.encode(TEXTS[3], TEXTS[5])
    write(f"{name}/pair.json", [{**row(TEXTS[3], pair.ids, pair.offsets), "second": TEXTS[5], "types": pair.type_ids}])


def roberta_template(tokenizer, trim=True, prefix=False):
    cls, sep = (("<s>", tokenizer.token_to_id("<s>")), ("</s>", tokenizer.token_to_id("</s>")))
    return processors.RobertaProcessing(sep, cls, trim, prefix)


def byte_level(name, prefix):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=500, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True, normalized=False)])
    tokenizer.post_processor = roberta_template(tokenizer, True, prefix)
    record(name, tokenizer)
    if not prefix:
        tokenizer.model.save(str(OUTPUT / name))


def train_sentencepiece(**options):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "rules.tsv").write_text(
            "".join(" ".join(f"{ord(c):X}" for c in k) + "\t" + " ".join(f"{ord(c):X}" for c in v) + "\n" for k, v in RULES.items())
        )
        (folder / "text").write_text("\n".join(CORPUS))
        sentencepiece.SentencePieceTrainer.train(
            input=str(folder / "text"),
            model_prefix=str(folder / "m"),
            normalization_rule_tsv=str(folder / "rules.tsv"),
            character_coverage=0.98,
            hard_vocab_limit=False,
            num_threads=1,
            minloglevel=2,
            **options,
        )
        model = sentencepiece_model_pb2.ModelProto.FromString((folder / "m.model").read_bytes())
    for field in ("input", "model_prefix"):  # hides the paths of the machine that trained the model
        model.trainer_spec.ClearField(field)
    model.normalizer_spec.ClearField("normalization_rule_tsv")
    return model


def record_sentencepiece(name, model):
    (OUTPUT / name).mkdir(parents=True, exist_ok=True)
    (OUTPUT / name / "spiece.model").write_bytes(model.SerializeToString())
    processor = sentencepiece.SentencePieceProcessor(model_proto=model.SerializeToString())
    rows = []
    for text in INPUTS:
        place = [0]
        for c in text:
            place += [place[-1]] * (len(c.encode()) - 1) + [place[-1] + 1]
        pieces = processor.encode(text, return_type="proto").pieces
        rows.append(row(text, [p.id for p in pieces], [(place[p.begin], place[p.end]) for p in pieces]))
    write(f"{name}/singles.json", rows)


def unused(model):
    for i, piece in enumerate(model.pieces):
        if piece.type == piece.NORMAL and len(piece.piece) > 1 and i % 3 == 0:
            piece.type = piece.UNUSED
    return model


def unigram_json(model):
    """A tokenizer as converters make it from a SentencePiece model, with additional normalizers."""
    vocab = [(p.piece, p.score) for p in model.pieces]
    tokenizer = Tokenizer(models.Unigram(vocab, 0))
    charsmap = base64.b64encode(model.normalizer_spec.precompiled_charsmap).decode()
    steps = [
        {"type": "Replace", "pattern": {"String": "``"}, "content": '"'},
        {"type": "NFKD"},
        {"type": "StripAccents"},
        {"type": "Lowercase"},
        {"type": "Precompiled", "precompiled_charsmap": charsmap},
        {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "},
    ]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B:1 </s>:1", special_tokens=[("<s>", 1), ("</s>", 2)]
    )
    content = json.loads(tokenizer.to_str())
    content["normalizer"] = {"type": "Sequence", "normalizers": steps}
    record("unigram_json", Tokenizer.from_str(json.dumps(content)))


def words_json():
    """WordPiece with the remaining pre-tokenizers and normalizers."""
    tokenizer = Tokenizer(models.WordPiece({"[UNK]": 0}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFC(), normalizers.Strip(), normalizers.Replace(Regex(r"\s{2,}|[\n\r\t]"), " ")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split("-", "merged_with_previous"),
            pre_tokenizers.Whitespace(),
            pre_tokenizers.Punctuation(),
            pre_tokenizers.Digits(individual_digits=True),
        ]
    )
    trainer = trainers.WordPieceTrainer(vocab_size=500, special_tokens=["[UNK]", "[CLS]", "[SEP]"], show_progress=False)
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    record("words_json", tokenizer)


def main():
    byte_level("byte_level", False)
    byte_level("byte_level_prefix", True)
    unigram = train_sentencepiece(vocab_size=560, model_type="unigram")
    record_sentencepiece("sentencepiece_unigram", unigram)
    unigram_json(unigram)
    bpe = train_sentencepiece(vocab_size=850, model_type="bpe", byte_fallback=True, user_defined_symbols=["<x>", "fox"])
    record_sentencepiece("sentencepiece_bpe", bpe)
    record_sentencepiece("sentencepiece_bpe_unused", unused(bpe))
    suffix = train_sentencepiece(vocab_size=560, model_type="unigram", treat_whitespace_as_suffix=True, user_defined_symbols=["fox"])
    record_sentencepiece("sentencepiece_suffix", suffix)
    words_json()


if __name__ == "__main__":
    main()
