"""Folders of tokenizers without tokenizer.json: SentencePiece models, and vocab.json with merges.txt.

make_all(root) writes them and returns {name: path}. Needs sentencepiece.
"""
import json
import pathlib
import tarfile

from sentencepiece import sentencepiece_model_pb2

import tokenizer_folders as folders

ARCHIVE = pathlib.Path(__file__).resolve().parent.parent / "testdata/tokenizer.tar"
CONTROL, USER_DEFINED, UNKNOWN, BYTE = 3, 4, 2, 6
# Class: (model_type, file, special pieces, the unknown one).
MODELS = {
    "XLMRoberta": ("xlm-roberta", "sentencepiece.bpe.model", ["<unk>", "<s>", "</s>"], "<unk>"),
    "Camembert": ("camembert", "sentencepiece.bpe.model", ["<unk>", "<s>", "</s>"], "<unk>"),
    "Albert": ("albert", "spiece.model", ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"], "<unk>"),
    "DebertaV2": ("deberta-v2", "spm.model", ["[PAD]", "[CLS]", "[SEP]", "[UNK]"], "[UNK]"),
    "T5": ("t5", "spiece.model", ["<pad>", "</s>", "<unk>"], "<unk>"),
}
TYPED_MASK = {"content": "<mask>", "single_word": False, "lstrip": True, "rstrip": False, "normalized": False}
# What tokenizer_config.json says beside the class.
SETTINGS = {
    "lower": {"do_lower_case": True}, "cased": {"do_lower_case": False, "keep_accents": True}, "no prefix": {"add_prefix_space": False},
    "punctuation": {"split_by_punct": True}, "extra": {"extra_special_tokens": ["<ent>", "newword"]}, "names": {"bos_token": "<ent>", "unk_token": "newword"},
    "sentinels": {"extra_ids": 3}, "null": {"do_lower_case": None}, "unknown id": {"unk_id": 1},
}


def charsmap():
    with tarfile.open(ARCHIVE, "r:") as tar:
        content = tar.extractfile("sentencepiece_unigram/spiece.model").read()
    return sentencepiece_model_pb2.ModelProto.FromString(content).normalizer_spec.precompiled_charsmap


def model(special, unknown, user_defined=(), mapped=True, **normalizer):
    """A unigram model of the pieces that tokenizer_folders has."""
    proto = sentencepiece_model_pb2.ModelProto()
    for piece, score in folders.unigram_vocabulary(special):
        kind = UNKNOWN if piece == unknown else CONTROL if piece in special else USER_DEFINED if piece in user_defined else 1
        proto.pieces.add(piece=piece, score=score, type=kind)
    proto.trainer_spec.model_type, proto.trainer_spec.unk_id = 1, special.index(unknown)
    proto.normalizer_spec.precompiled_charsmap = charsmap() if mapped else b""
    for name, value in normalizer.items():
        setattr(proto.normalizer_spec, name, value)
    return proto.SerializeToString()


def write(root, made, name, files):
    folder = pathlib.Path(root) / name
    folder.mkdir(parents=True, exist_ok=True)
    for file, content in files.items():
        (folder / file).write_bytes(content if isinstance(content, bytes) else content.encode() if isinstance(content, str) else json.dumps(content).encode())
    made[name] = folder


def sentencepiece_alone(root, made):
    for name, (kind, file, special, unknown) in MODELS.items():
        config = {"config.json": {"model_type": kind}}
        plain = model(special, unknown)
        write(root, made, f"{name} alone", {file: plain} | config)
        write(root, made, f"{name} alone, user-defined", {file: model(special, unknown, user_defined=("al", "▁the"))} | config)
        write(root, made, f"{name} alone, other spaces", {file: model(special, unknown, mapped=False, add_dummy_prefix=False, remove_extra_whitespaces=False)} | config)
        write(root, made, f"{name} alone, tokenizer.model", {"tokenizer.model": plain} | config)
        write(root, made, f"{name} alone, file of another class", {"spm.model" if file != "spm.model" else "spiece.model": plain} | config)
        for what, settings in SETTINGS.items():
            write(root, made, f"{name} alone, {what}", {file: plain, "tokenizer_config.json": {"tokenizer_class": name + "Tokenizer"} | settings} | config)
        write(root, made, f"{name} alone, map", {file: plain, "special_tokens_map.json": {"mask_token": TYPED_MASK, "additional_special_tokens": ["<ent>"]}} | config)
        count = len(sentencepiece_model_pb2.ModelProto.FromString(plain).pieces)
        write(root, made, f"{name} alone, added", {file: plain, "added_tokens.json": {"newword": count + 1}} | config)
        proto = sentencepiece_model_pb2.ModelProto.FromString(plain)
        proto.trainer_spec.model_type = 2
        write(root, made, f"{name} alone, BPE", {file: proto.SerializeToString()} | config)
    write(root, made, "Albert alone, add_bos_token", {"spiece.model": model(*MODELS["Albert"][2:]), "config.json": {"model_type": "albert"},
                                                      "tokenizer_config.json": {"tokenizer_class": "AlbertTokenizer", "add_bos_token": True}})
    write(root, made, "XLNet alone", {"spiece.model": model(*MODELS["T5"][2:]), "config.json": {"model_type": "xlnet"}})


def merges_alone(root, made):
    for name, kind in (("Roberta", "roberta"), ("Deberta", "deberta"), ("GPT2", "gpt2")):
        special = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"] if name == "Deberta" else folders.FAIRSEQ_SPECIAL + ["<mask>", "<|endoftext|>"]
        vocabulary, merges = folders.bpe_vocabulary(special)
        files = {"vocab.json": vocabulary, "merges.txt": "#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in merges), "config.json": {"model_type": kind}}
        write(root, made, f"{name} alone", files)
        write(root, made, f"{name} alone, map", files | {"special_tokens_map.json": {"mask_token": TYPED_MASK, "additional_special_tokens": ["<ent>"]}})
        write(root, made, f"{name} alone, prefix", files | {"tokenizer_config.json": {"tokenizer_class": name + "Tokenizer", "add_prefix_space": True}})
        write(root, made, f"{name} alone, extra", files | {"tokenizer_config.json": {"tokenizer_class": name + "Tokenizer", "extra_special_tokens": ["<ent>", "newword"],
                                                                                    "additional_special_tokens": ["Special"]}})


def make_all(root):
    made = {}
    sentencepiece_alone(root, made)
    merges_alone(root, made)
    return made
