#!/usr/bin/env python3
"""Records how `tokenizers` 0.23 tokenizes the torture list: tests/testdata/tokenizer.tar.

    python tests/record/fixtures.py tokenizer record_tokenizer.py

The script makes two small vocabularies of its own, one cased and one uncased. Needs `pip install tokenizers==0.23.*`, and for
MPNet's tokenizer `transformers==5.24.*`.
"""
import json
import pathlib
import sys

from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, processors

from torture_texts import MALFORMED, TEXTS, random_texts

OUTPUT = pathlib.Path(sys.argv[1])
SPECIAL = ["[PAD]", "[unused1]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = """the quick brown fox jump ##s over lazy dog un ##aff ##able ##want ##ed run ##ning stop clock quote
bracket ##ted capital case All CAP ##ITAL Mi ##Xe ##D creme Crème brulee ##ûlée naive na ##ïve ##ive facade senor text
mixed star ##ts with mark stand alone a aa aaa aaaaaaaaaa ##aa ##aaaaaaaaaa 中 文 和 日 ##本 ##語 οδο ##σ ##ς ##Σ ΟΔΟ
İ ##stanbul istanbul i ##ı ##ss ка ##ки рус Рус ##ский ##ск ##ии 가 ##각 ᄒ ##ᅡ ##ᆫ 한 ##국어 שלום ##ום 😀 👍 ##🏽 https com example
##ample 19 ##2 ##16 ##8 20 ##24 user the ##ing ##in ##g e é ##é ##e 12 ##34""".split()
BLOCK = 4096
MAX_LENGTHS = (3, 4, 5, 6, 7, 12, 13)


def vocabulary(lowercase):
    """Words, then single characters, so that most texts consist in part of known pieces."""
    texts = "".join(TEXTS[:30])
    if lowercase:
        texts = normalizers.BertNormalizer(lowercase=True).normalize_str(texts)
    kept = [c for c in dict.fromkeys(texts) if c not in "\n\r\t \0" and (ord(c) % 3 or ord(c) < 128)]
    words = [w.lower() if lowercase else w for w in WORDS]
    ascii_pieces = [chr(c) for c in range(33, 127) if not (lowercase and chr(c).isupper()) and chr(c) != "~"]
    continuations = ["##" + c for c in ascii_pieces + kept if c.isalnum()]
    return list(dict.fromkeys(SPECIAL + words + ascii_pieces + kept + continuations))


def bert(pieces, lowercase):
    ids = {piece: i for i, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(True, True, None, lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[("[CLS]", ids["[CLS]"]), ("[SEP]", ids["[SEP]"])],
    )
    tokenizer.add_special_tokens([piece for piece in SPECIAL if piece != "[unused1]"])
    return tokenizer


def save(name, value):
    rows = ",\n".join(json.dumps(row, separators=(",", ":")) for row in value)
    (OUTPUT / name).write_text(f"[\n{rows}\n]\n")


def record_texts(name, tokenizer):
    inputs = [text.encode() for text in TEXTS + random_texts(300, seed=7)] + MALFORMED
    save(
        f"{name}/singles.json",
        [{"bytes": raw.hex(), "ids": tokenizer.encode(raw.decode(errors="replace")).ids} for raw in inputs],
    )
    pairs = [(a, b) for a in TEXTS[3:8] + TEXTS[:1] + TEXTS[-3:] for b in TEXTS[4:9] + TEXTS[:1]]
    rows = []
    for a, b in pairs:
        for length in MAX_LENGTHS:
            tokenizer.enable_truncation(length)
            pair, single = tokenizer.encode(a, b), tokenizer.encode(a)
            rows.append({"a": a, "b": b, "max": length, "ids": pair.ids, "types": pair.type_ids, "single": single.ids})
    tokenizer.no_truncation()
    save(f"{name}/pairs.json", rows)


def record_added_tokens(tokenizer):
    """A copy of the uncased tokenizer with added tokens that have every flag."""
    tokenizer.add_tokens(
        [
            AddedToken("<left>", lstrip=True, normalized=False),
            AddedToken("<right>", rstrip=True, normalized=False),
            AddedToken("<both>", lstrip=True, rstrip=True, normalized=False),
            AddedToken("word", single_word=True, normalized=False),
            AddedToken("Crème", normalized=True),
            AddedToken("new thing", normalized=True),
            AddedToken("<", normalized=False),
        ]
    )
    texts = [
        "a <left> b  <right>  c \u3000<both>\u2003 d",
        "<left><right><both><left",
        "  <right>  <left>  <right>  <both>",
        "word words sword word. (word) \u00e9word word\u00e9 word\u0301 _word word1 word\u200d",
        "CRÈME creme brulee a NEW THING cremewordcreme",
        "new  thing new\tthing [SEP]new thing[SEP]",
        "e\u0301word\xa0word <left>word<right>  word",
    ]
    save("added/singles.json", [{"bytes": t.encode().hex(), "ids": tokenizer.encode(t).ids} for t in texts])
    tokenizer.save(str(OUTPUT / "added" / "tokenizer.json"), pretty=False)


def record_mpnet():
    """The tokenizer class of MPNet: <s> A </s></s> B </s>, and a <mask> that takes the space before it."""
    from transformers import MPNetTokenizer

    pieces = ["<s>", "<pad>", "</s>", "<unk>", "[UNK]", "<mask>"] + WORDS[:24] + [c for c in "abcdefgh.,?!<>"]
    folder = OUTPUT / "mpnet"
    folder.mkdir(exist_ok=True)
    pieces = list(dict.fromkeys(piece.lower() if piece in WORDS else piece for piece in pieces))
    (folder / "vocab.txt").write_text("".join(piece + "\n" for piece in pieces), newline="\n")
    tokenizer = MPNetTokenizer({piece: i for i, piece in enumerate(pieces)})
    tokenizer.backend_tokenizer.save(str(folder / "tokenizer.json"), pretty=False)
    texts = ["The quick brown fox", "un\u00e0ffable  <mask>, over", "a<mask>b <mask> <pad> <unk> [UNK]", "<s>lazy</s> dog?", "",
             "JUMPS over the lazy dog jumps over the lazy dog"]
    rows = []
    for a in texts:
        for b in filter(None, texts):  # an empty one counts as none
            for length in (5, 9, 64):
                pair = tokenizer(a, b, truncation=True, max_length=length)
                single = tokenizer(a, truncation=True, max_length=length)
                rows.append({"a": a, "b": b, "max": length, "ids": pair["input_ids"], "single": single["input_ids"]})
    save("mpnet/pairs.json", rows)


def fnv(data, value=0xCBF29CE484222325):
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


def record_code_points():
    """One digest for each block of 4096 code points. It covers what each code point becomes and into how many words it splits a text."""
    tiny = bert(SPECIAL, False)
    columns = {"cased": (True, True, False, False), "uncased": (True, True, None, True), "lower": (False, False, False, True)}
    rows = []
    for start in range(0, 0x110000, BLOCK):
        characters = [chr(c) for c in range(start, start + BLOCK) if not 0xD800 <= c <= 0xDFFF]
        row = {"first": start}
        for name, options in columns.items():
            normalizer = normalizers.BertNormalizer(*options)
            row[name] = f"{fnv(''.join(normalizer.normalize_str(f'a{c}b') for c in characters).encode()):016x}"
        row["words"] = f"{fnv(bytes(len(e.ids) for e in tiny.encode_batch([f'a{c}b' for c in characters]))):016x}"
        rows.append(row)
    save("code_points.json", rows)


def main():
    for name, lowercase in (("cased", False), ("uncased", True)):
        (OUTPUT / name).mkdir(parents=True, exist_ok=True)
        pieces = vocabulary(lowercase)
        (OUTPUT / name / "vocab.txt").write_text("".join(piece + "\n" for piece in pieces), newline="\n")
        record_texts(name, bert(pieces, lowercase))
    (OUTPUT / "added").mkdir(exist_ok=True)
    record_added_tokens(bert(vocabulary(True), True))
    record_code_points()
    record_mpnet()


if __name__ == "__main__":
    main()
