#!/usr/bin/env python3
"""Records every normalizer, pre-tokenizer, post-processor, decoder and model of `tokenizers` with its options.

    python tests/record/fixtures.py tokenizer record_tokenizer_parts.py

Writes parts.json in tests/testdata/tokenizer.tar. A row is a change of a small tokenizer.json, and the ids that AutoTokenizer of
transformers 5 gives, or a part of the sentence by which berth refuses the row. The script fails if berth could forget a part: the lists
below must name every class of `tokenizers`. Needs transformers 5 and tokenizers 0.22 or newer.
"""
import base64
import itertools
import json
import os
import pathlib
import sys
import tempfile

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"

import tokenizers  # noqa: E402
import transformers  # noqa: E402
from sentencepiece import sentencepiece_model_pb2  # noqa: E402

OUTPUT = pathlib.Path(sys.argv[1])
TEXTS = [
    "The quick fox, a foX!", "  leading and   double\tspaces\nand lines ", "Naïve É e\u0301 \u0301a", "中文 and x中y", "x1y22z 2024-01-01", "a-b -- c_d ▁a ▁",
    "[CLS] a [SEP] b <s> c </s> <mask> d", "ﬁ Ａ ½ \u00a0x\u200by\u3000z", "thethe 'th", "", " ", "a\u0000b\u0007c", "\U0001f468\u200d\U0001f469 aaaa", "fox" * 40,
]
PAIR = ["a fox", "the fox"]
LETTERS = "abcdefghijklmnopqrstuvwxyzABTX0123456789-_,.!'▁é中Ġ"
WORDPIECE = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *LETTERS, *("##" + c for c in LETTERS), "the", "fox", "##ox", "@@x", "▁the", "▁a"]
UNIGRAM = ["<s>", "<pad>", "</s>", "<unk>", *LETTERS, "▁the", "▁fox", "▁a", "th", "ox", "<0x41>"]
MERGES = [["t", "h"], ["th", "e"], ["o", "x"], ["f", "ox"], ["Ġ", "fox"], ["Ġ", "the"], ["Ġ", "a"]]
BPE = ["<s>", "<pad>", "</s>", "<unk>", *LETTERS, *("".join(m) for m in MERGES), "##e", "e</w>", "<0xC3>", "<0xAF>", "thea"]


def ids(pieces):
    return {piece: i for i, piece in enumerate(pieces)}


def base(kind):
    model = {
        "wordpiece": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": ids(WORDPIECE)},
        "unigram": {"type": "Unigram", "unk_id": 3, "vocab": [[p, 0.0 if i < 4 else -2.0 - len(p) / 7 - i / 100] for i, p in enumerate(UNIGRAM)], "byte_fallback": False},
        "bpe": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": False,
                "byte_fallback": False, "ignore_merges": False, "vocab": ids(BPE), "merges": MERGES},
        "wordlevel": {"type": "WordLevel", "unk_token": "[UNK]", "vocab": ids(["[UNK]", "the", "fox"])},
    }[kind]
    words = {"wordpiece": {"type": "BertPreTokenizer"}, "wordlevel": {"type": "Whitespace"},
             "unigram": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
             "bpe": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}}[kind]
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None, "pre_tokenizer": words,
            "post_processor": None, "decoder": None, "model": model}


def charsmap():
    model = sentencepiece_model_pb2.ModelProto.FromString((OUTPUT / "sentencepiece_unigram/spiece.model").read_bytes())
    return base64.b64encode(model.normalizer_spec.precompiled_charsmap).decode()


def options(**values):
    """Every combination."""
    return [dict(zip(values, each)) for each in itertools.product(*values.values())]


YES_NO, PATTERNS = (True, False), ({"String": "-"}, {"String": " "})
BEHAVIORS = ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")
NMT, DIGITS, LOWER = {"type": "Nmt"}, {"type": "Digits", "individual_digits": True}, {"type": "Lowercase"}
REGEX = {"type": "Split", "pattern": {"Regex": "x+"}, "behavior": "Isolated", "invert": False}
BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
META = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": True}
BERT = {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]}
KNOWN = {name: {"id": name, "ids": i, "tokens": name.split()} for name, i in (("[CLS]", [2]), ("[SEP]", [3]), ("[CLS] [SEP]", [2, 3]))}


def token(name, kind=0):
    return {"SpecialToken": {"id": name, "type_id": kind}}


def text(name, kind=0):
    return {"Sequence": {"id": name, "type_id": kind}}


def template(single, pair):
    return {"single": single, "pair": pair, "special_tokens": KNOWN}


# Class in Python: [(type in the file, options), ...]. An option "REFUSED" names a part of berth's sentence.
NORMALIZERS = {
    "BertNormalizer": options(clean_text=YES_NO, handle_chinese_chars=YES_NO, strip_accents=(None, *YES_NO), lowercase=YES_NO)[::2],
    "Strip": options(strip_left=YES_NO, strip_right=YES_NO), "StripAccents": [{}], "NFC": [{}], "NFD": [{}], "NFKC": [{}], "NFKD": [{}], "Lowercase": [{}],
    "Replace": [{"pattern": {"String": "th"}, "content": "x"}, {"pattern": {"String": "a"}, "content": ""}, {"pattern": {"Regex": " {2,}"}, "content": " "},
                {"pattern": {"Regex": "\\s{2,}|[\\n\\r\\t]"}, "content": " "}, {"pattern": {"Regex": "a+"}, "content": "b", "REFUSED": '"a+", a regular expression'},
                {"pattern": {"String": ""}, "content": "b", "REFUSED": "normalizer.pattern is empty"}],
    "Prepend": [{"prepend": "▁"}, {"prepend": "a b"}, {"prepend": "", "REFUSED": "normalizer.prepend is empty"}],
    "Precompiled": [{"precompiled_charsmap": None}],
    "Sequence": [{"normalizers": []}, {"normalizers": [{"type": "NFD"}, {"type": "StripAccents"}, {"type": "Sequence", "normalizers": [LOWER]}]},
                 {"normalizers": [LOWER, NMT], "REFUSED": 'normalizer.type is "Nmt"'}],
    "Nmt": [{"REFUSED": 'normalizer.type is "Nmt"'}], "ByteLevel": [{"REFUSED": 'normalizer.type is "ByteLevel"'}],
}
PRE_TOKENIZERS = {
    "BertPreTokenizer": [{}], "Whitespace": [{}], "WhitespaceSplit": [{}],
    "ByteLevel": options(add_prefix_space=YES_NO, trim_offsets=(True,), use_regex=YES_NO),
    "Metaspace": options(replacement=("▁", "_"), prepend_scheme=("always", "first", "never"), split=YES_NO) + [{"replacement": "▁", "str_rep": "▁", "add_prefix_space": True}],
    "Punctuation": [{}, *options(behavior=BEHAVIORS)], "Digits": options(individual_digits=YES_NO),
    "Split": options(pattern=PATTERNS, behavior=BEHAVIORS, invert=YES_NO) + [{**REGEX, "REFUSED": '"x+", a regular expression'}],
    "Sequence": [{"pretokenizers": []}, {"pretokenizers": [{"type": "Whitespace"}, DIGITS]}, {"pretokenizers": [DIGITS, META]}, {"pretokenizers": [META, DIGITS]},
                 {"pretokenizers": [REGEX, BYTES], "REFUSED": '"x+", a regular expression'}, {"pretokenizers": [BYTES, DIGITS], "REFUSED": "a step after ByteLevel"}],
    "CharDelimiterSplit": [{"delimiter": "a", "REFUSED": '"CharDelimiterSplit"'}], "UnicodeScripts": [{"REFUSED": '"UnicodeScripts"'}],
    "FixedLength": [{"length": 3, "REFUSED": '"FixedLength"'}],
}
POST_PROCESSORS = {
    "BertProcessing": [BERT], "ByteLevel": options(add_prefix_space=YES_NO, trim_offsets=YES_NO, use_regex=(True,)),
    "RobertaProcessing": [{**BERT, "type": "RobertaProcessing", **each} for each in options(trim_offsets=YES_NO, add_prefix_space=YES_NO)],
    "TemplateProcessing": [template([token("[CLS]"), text("A"), token("[SEP]")], [token("[CLS]"), text("A"), token("[SEP]"), text("B", 1), token("[SEP]", 1)]),
                           template([text("A")], [text("B"), token("[SEP]", 3), text("A", 1)]), template([token("[CLS] [SEP]"), text("A")], [text("A"), text("B")]),
                           {**template([text("A"), text("A")], [text("A"), text("B")]), "REFUSED": "the text A twice"}],
    "Sequence": [{"processors": []}, {"processors": [BYTES, BERT]}, {"processors": [BERT, BERT], "REFUSED": "two steps"}],
}
DECODERS = {  # berth decodes nothing
    "BPEDecoder": [{"suffix": "</w>"}], "ByteLevel": [BYTES], "ByteFallback": [{}], "CTC": [{"pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": True}],
    "Fuse": [{}], "Metaspace": [META], "Replace": [{"pattern": {"Regex": "a+"}, "content": "b"}], "Sequence": [{"decoders": [{"type": "Fuse"}]}],
    "Strip": [{"content": "_", "start": 1, "stop": 0}], "WordPiece": [{"prefix": "##", "cleanup": True}],
}
MODELS = {
    "WordPiece": [{"unk_token": "[PAD]"}, {"continuing_subword_prefix": "@@"}, {"max_input_chars_per_word": 5}],
    "BPE": [{"dropout": 0.0}, {"unk_token": "<unk>"}, {"unk_token": "<unk>", "fuse_unk": True}, {"byte_fallback": True, "unk_token": "<unk>", "WORDS": {"type": "Whitespace"}},
            {"byte_fallback": True, "unk_token": "<unk>", "REFUSED": "model.byte_fallback"}, {"unk_token": "<unk>", "end_of_word_suffix": "</w>", "WORDS": {"type": "Whitespace"}},
            {"ignore_merges": True}, {"dropout": 0.5, "REFUSED": "model.dropout is set"}, {"end_of_word_suffix": "</w>", "REFUSED": "end_of_word_suffix"}],
    "Unigram": [{"unk_id": 4}, {"byte_fallback": True}], "WordLevel": [{"REFUSED": 'model.type is "WordLevel"'}],
}
BASES = {"WordPiece": "wordpiece", "BPE": "bpe", "Unigram": "unigram", "WordLevel": "wordlevel"}


def require_all(module, table, names):
    """Fails if `tokenizers` has a class that the table has not."""
    here = {name for name in dir(module) if isinstance(getattr(module, name), type)} - {"Normalizer", "PreTokenizer", "PostProcessor", "Decoder", "DecodeStream", "Model"}
    absent = {names.get(name, name) for name in here} - set(table)
    assert not absent, (module, absent)


def rows():
    for part, table in (("normalizer", NORMALIZERS), ("pre_tokenizer", PRE_TOKENIZERS), ("post_processor", POST_PROCESSORS), ("decoder", DECODERS)):
        for kind, choices in table.items():
            for each in choices:
                value = {"type": kind, **each}
                refused = value.pop("REFUSED", None)
                if kind == "Precompiled":
                    value["precompiled_charsmap"] = charsmap()
                bases = ("wordpiece", "unigram") if part == "normalizer" else ("bpe",) if kind == "ByteLevel" and part == "pre_tokenizer" else ("wordpiece",)
                if kind == "Metaspace" or (kind == "Sequence" and META in value.get("pretokenizers", ())):
                    bases = ("unigram",)
                for name in bases:
                    yield {"base": name, "change": {part: value}, **({"refused": refused} if refused else {})}
    for kind, choices in MODELS.items():
        for each in choices:
            value = dict(each)
            refused = value.pop("REFUSED", None)
            words = {"pre_tokenizer": value.pop("WORDS")} if "WORDS" in value else {}
            yield {"base": BASES[kind], "change": {"model": value, **words}, **({"refused": refused} if refused else {})}


def main():
    require_all(tokenizers.normalizers, NORMALIZERS, {})
    require_all(tokenizers.pre_tokenizers, PRE_TOKENIZERS, {})
    require_all(tokenizers.processors, POST_PROCESSORS, {})
    require_all(tokenizers.decoders, DECODERS, {})
    require_all(tokenizers.models, MODELS, {})
    scratch = pathlib.Path(tempfile.mkdtemp())
    (scratch / "config.json").write_text('{"model_type": "bert"}')
    (scratch / "tokenizer_config.json").write_text('{"tokenizer_class": "PreTrainedTokenizerFast"}')
    written = []
    for row in rows():
        root = base(row["base"])
        for part, value in row["change"].items():
            root[part] = {**root[part], **value} if part == "model" else value
        if "refused" not in row:
            (scratch / "tokenizer.json").write_text(json.dumps(root))
            tokenizer = transformers.AutoTokenizer.from_pretrained(scratch)
            row["ids"] = [tokenizer(t)["input_ids"] for t in TEXTS] + [tokenizer(*PAIR)["input_ids"]]
        written.append(row)
    head = {"texts": TEXTS, "pair": PAIR, "bases": {name: base(name) for name in BASES.values()}}
    lines = ",\n".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in written)
    (OUTPUT / "parts.json").write_text(f'{json.dumps(head, ensure_ascii=False)[:-1]}, "rows": [\n{lines}\n]}}\n')
    print(len(written), "rows,", sum("refused" in row for row in written), "refused,", (OUTPUT / "parts.json").stat().st_size, "bytes")


if __name__ == "__main__":
    main()
