"""Folders of tokenizers as transformers 4 and 5 and their users leave them: each class and flag, added tokens, edited and older files.

make_all(root) writes them and returns {name: path}. The vocabularies are small; they hold every character of ALPHABET. After widen(), they
also hold every character of torture_texts.

    python tests/record/tokenizer_folders.py ROOT [DATA]

writes the folders with the wide alphabet, by the transformers of this Python, and with the vocabularies of DATA. Needs sentencepiece.
"""
import itertools
import json
import os
import pathlib
import shutil
import sys
import unicodedata

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"

import transformers  # noqa: E402
import torture_texts  # noqa: E402
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, processors, trainers  # noqa: E402

NEW = int(transformers.__version__.split(".")[0]) >= 5
WORDS = ["the", "quick", "The", "fox", "jump", "over", "lazy", "dog", "is", "running", "Straße", "naive", "naïve", "Paris", "London", "un",
         "aff", "able", "new", "word", "covid", "19", "中文", "Привет", "мир", "token", "in", "on"]
ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,:;!?'\"()[]<>/-_#@`éèïöüßÉÈÏÖÜñç中文日本語приветмПЙйΣσς"
BERT_SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
FAIRSEQ_SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]
CORPUS = [" ".join(WORDS), " ".join(ALPHABET), *WORDS, "the quick fox jumps over the lazy dog.", "a new word about covid-19 in Paris"] * 4
# Texts that tell the variants apart.
TEXTS = [
    "The quick brown fox jumps over the lazy dog.",
    "a newword about covid-19, NewWord and COVID-19!",
    "a newwords xnewword newword<ent> <ent>x x <ent> y",
    "Naïve Straße ÉCOLE é e\u0301 Çñ",
    "中文 and 日本語 in the text",
    "Привет, мир! ПРИВЕТ йЙ",
    "  leading  and   double\tspaces\nand lines ",
    "[CLS] a [SEP] b [MASK] c [PAD] [UNK]",
    "<s> a </s> b <mask> c <pad> <unk> x<mask>y x <mask> y",
    "Unaffable un-running (in) London/Paris ``quoted'' 'it's'",
    "ΟΔΟΣ σίγμα",
    "a" * 30 + " " + "ab" * 60,
    "x1y2z3 2024-01-01 #the ##the",
    "",
    " ",
    "!",
    "extra_id_0 <extra_id_0> <extra_id_99> <s>NOTUSED",
    "NEWWORD special Special SPECIAL",
]


def widen():
    """Adds the characters of torture_texts to ALPHABET, and what normalizers make of them."""
    global ALPHABET
    seen = set(ALPHABET)
    for text in torture_texts.TEXTS + [torture_texts.POOL]:
        for form in [text] + [unicodedata.normalize(name, text) for name in ("NFC", "NFD", "NFKC", "NFKD")]:
            seen |= set(form) | set(form.lower()) | set(unicodedata.normalize("NFD", form.lower()))
    ALPHABET = "".join(sorted(c for c in seen if not c.isspace() and unicodedata.category(c) != "Cc"))


def may_follow(character):
    """Whether a word of BERT may have it after its first character."""
    return character.isalnum() or unicodedata.category(character)[0] in "MC"


def wordpiece_vocabulary(special=BERT_SPECIAL, case=True):
    letters = sorted(set(ALPHABET))
    pieces = special + letters + ["##" + c for c in letters if may_follow(c)] + WORDS + ["##word", "##ing", "##s", "##able"]
    return [p for i, p in enumerate(pieces) if p not in pieces[:i] and (case or p in special or p == p.lower())]


def bpe_vocabulary(special, **trainer):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.train_from_iterator(CORPUS, trainers.BpeTrainer(
        vocab_size=420, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False, **trainer))
    model = json.loads(tokenizer.to_str())["model"]
    return model["vocab"], [tuple(m) if isinstance(m, list) else tuple(m.split(" ")) for m in model["merges"]]


def unigram_vocabulary(special):
    pieces = special + ["▁"] + sorted(set(ALPHABET)) + ["▁" + w for w in WORDS] + ["s", "ing", "word", "▁a", "al"]
    pieces = [p for i, p in enumerate(pieces) if p not in pieces[:i]]
    return [(p, 0.0 if p in special else -5.0 - len(p) / 7 - i / 1000) for i, p in enumerate(pieces)]


def herbert_vocabulary():
    words = [w + "</w>" for w in ("the", "fox", "new", "word")]
    letters = sorted(set(ALPHABET))
    pieces = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", *letters, *(c + "</w>" for c in letters), "th", "fo", "ne", "wo", "wor", *words]
    merges = [("t", "h"), ("th", "e</w>"), ("f", "o"), ("fo", "x</w>"), ("n", "e"), ("ne", "w</w>"), ("w", "o"), ("wo", "r"), ("wor", "d</w>")]
    return {p: i for i, p in enumerate(dict.fromkeys(pieces))}, merges


CONFIGS = {"Bert": "bert", "DistilBert": "distilbert", "Electra": "electra", "MobileBert": "mobilebert", "ConvBert": "convbert",
           "SqueezeBert": "squeezebert", "LayoutLM": "layoutlm", "Lxmert": "lxmert", "MPNet": "mpnet", "Roberta": "roberta", "Longformer": "longformer", "Bart": "bart", "GPT2": "gpt2",
           "Deberta": "deberta", "XLMRoberta": "xlm-roberta", "Camembert": "camembert", "Albert": "albert", "DebertaV2": "deberta-v2",
           "T5": "t5", "Herbert": "bert", "BigBird": "big_bird", "RemBert": "rembert", "Funnel": "funnel", "DPRQuestionEncoder": "bert"}


class Maker:
    def __init__(self, root):
        self.root, self.made = pathlib.Path(root), {}
        self.scratch = self.root / "scratch"
        self.scratch.mkdir(parents=True, exist_ok=True)

    def pieces(self, name):
        if name == "MPNet":
            return wordpiece_vocabulary(["<s>", "<pad>", "</s>", "[UNK]", "<mask>"])
        return wordpiece_vocabulary(case=name != "lower")

    def tokenizer(self, name, slow=False, **flags):
        """A tokenizer of the class, made from files of a vocabulary or in memory. slow: in Python, which only version 4 has."""
        old = self.scratch / f"{name}{len(self.made)}"
        old.mkdir(exist_ok=True)
        cls = getattr(transformers, name + "Tokenizer" + ("" if NEW or slow else "Fast"))
        if name in ("Roberta", "Longformer", "Bart", "GPT2", "Deberta"):
            special = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"] if name == "Deberta" else FAIRSEQ_SPECIAL + ["<mask>", "<|endoftext|>"]
            vocabulary, merges = bpe_vocabulary(special)
            (old / "vocab.json").write_text(json.dumps(vocabulary))
            (old / "merges.txt").write_text("#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in merges))
            return cls(vocab=vocabulary, merges=merges, **flags) if NEW else cls(str(old / "vocab.json"), str(old / "merges.txt"), **flags)
        if name == "Herbert":
            vocabulary, merges = herbert_vocabulary()
            (old / "vocab.json").write_text(json.dumps(vocabulary))
            (old / "merges.txt").write_text("#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in merges))
            return cls(vocab=vocabulary, merges=merges, **flags) if NEW else cls(str(old / "vocab.json"), str(old / "merges.txt"), **flags)
        if name in ("XLMRoberta", "Camembert", "Albert", "DebertaV2", "T5", "BigBird", "RemBert"):
            if not NEW:
                return cls(str(self.sentencepiece(name, old)), **flags)
            special = {"XLMRoberta": FAIRSEQ_SPECIAL, "Camembert": ["<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<unk>NOTUSED", "<s>", "</s>"],
                       "Albert": ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"], "DebertaV2": ["[PAD]", "[CLS]", "[SEP]", "[UNK]"],
                       "T5": ["<pad>", "</s>", "<unk>"], "BigBird": ["<pad>", "</s>", "<s>", "<unk>", "[CLS]", "[SEP]", "[MASK]"], "RemBert": ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]}[name]
            vocabulary = unigram_vocabulary(special)
            if name == "XLMRoberta":
                vocabulary.append(("<mask>", 0.0))
            return cls(vocab=vocabulary, **flags)
        (old / "vocab.txt").write_text("\n".join(self.pieces(name)) + "\n")
        if NEW:
            return cls(vocab={p: i for i, p in enumerate(self.pieces(name))}, **flags)
        return cls(str(old / "vocab.txt"), **flags)

    def sentencepiece(self, name, folder):
        """Writes the model of a class under its name."""
        import lone_vocabularies  # needs sentencepiece

        if name not in lone_vocabularies.MODELS:
            raise NotImplementedError
        _, file, special, unknown = lone_vocabularies.MODELS[name]
        (folder / file).write_bytes(lone_vocabularies.model(special, unknown))
        return folder / file

    def leave_files(self, what, name):
        """Leaves the files of a tokenizer as version 4 saves them, with its vocabulary beside tokenizer.json."""
        folder = self.root / what
        self.tokenizer(name).save_pretrained(folder)
        old = self.scratch / f"{name}{len(self.made)}"
        if name in ("XLMRoberta", "Albert", "DebertaV2") and NEW:
            self.sentencepiece(name, old)
        elif name in ("Bert", "MPNet"):
            (old / "vocab.txt").write_text("\n".join(self.pieces(name)) + "\n")
        for file in old.iterdir():
            shutil.copy(file, folder)

    def save(self, what, name, tokenizer, config=None, edit=None):
        """Saves a folder; `edit` changes its files afterwards: file -> function of its JSON, None to remove, or text."""
        folder = self.root / what
        tokenizer.save_pretrained(folder)
        if config is not False:
            (folder / "config.json").write_text(json.dumps(config or {"model_type": CONFIGS.get(name, "bert")}))
        for file, change in (edit or {}).items():
            path = folder / file
            if change is None:
                path.unlink(missing_ok=True)
            elif isinstance(change, str):
                path.write_text(change)
            else:
                content = json.loads(path.read_text())
                path.write_text(json.dumps(change(content) or content, ensure_ascii=False))
        self.made[what] = folder

    def attempt(self, what, name, flags, then=None, over=None, slow=False, **saving):
        """`over` is the class of the tokenizer whose files are there already."""
        try:
            if over:
                self.leave_files(what, over)
            tokenizer = self.tokenizer(name, slow, **flags)
            if then:
                then(tokenizer)
            self.save(what, name, tokenizer, **saving)
        except NotImplementedError:
            pass
        except Exception as error:
            print(f"not made: {what}: {error!r}"[:200])


def set_key(**values):
    return lambda content: content.update(values)


def without(*names):
    return lambda content: {k: v for k, v in content.items() if k not in names}


def add_words(tokenizer):
    tokenizer.add_tokens(["newword", "covid-19"])


def add_entities(tokenizer):
    tokenizer.add_special_tokens({"additional_special_tokens": ["<ent>", "Special"]})


def add_flagged(tokenizer):
    tokenizer.add_tokens([AddedToken("newword", single_word=True, normalized=True), AddedToken("<ent>", lstrip=True, rstrip=True, normalized=False),
                          AddedToken("SPECIAL", normalized=True), AddedToken("the", normalized=False)])


def add_named(tokenizer):
    tokenizer.add_special_tokens({"mask_token": AddedToken("<ent>", lstrip=True), "sep_token": "newword"})


def add_spaces(tokenizer):
    tokenizer.add_tokens([AddedToken(" c", lstrip=True, rstrip=True, normalized=True), AddedToken(" ", normalized=True),
                          AddedToken("x", rstrip=True, normalized=False)])


ADDITIONS = {"words": add_words, "entities": add_entities, "flags": add_flagged, "names": add_named, "spaces": add_spaces}


def json_pipeline(**parts):
    """An edit of tokenizer.json."""
    return lambda content: content.update(parts)


LOWER = {"type": "Lowercase"}
NORMALIZERS = {
    "none": None,
    "nfkc and bert": {"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
                                                                               "strip_accents": None, "lowercase": True}]},
    "cased": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": False},
    "unclean": {"type": "BertNormalizer", "clean_text": False, "handle_chinese_chars": False, "strip_accents": False, "lowercase": True},
    "replace": {"type": "Sequence", "normalizers": [{"type": "Replace", "pattern": {"String": "covid"}, "content": "flu"}, LOWER]},
    "lower": {"type": "Sequence", "normalizers": [{"type": "NFD"}, LOWER, {"type": "StripAccents"}]},
}


def special(token, kind=0):
    return {"SpecialToken": {"id": token, "type_id": kind}}


def template(ids, single, pair):
    seen = {part["SpecialToken"]["id"] for part in single + pair if "SpecialToken" in part}
    return {"type": "TemplateProcessing", "single": single, "pair": pair,
            "special_tokens": {t: {"id": t, "ids": [ids[t]], "tokens": [t]} for t in seen}}


A, B, B1 = {"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}


def templates(cls, sep, ids):
    return {
        "no template": None,
        "only the end": template(ids, [A, special(sep)], [A, special(sep), B1, special(sep, 1)]),
        "without types": template(ids, [special(cls), A, special(sep)], [special(cls), A, special(sep), B, special(sep)]),
        "twice": template(ids, [special(cls), A, special(sep)], [special(cls), A, special(sep), special(sep), B, special(sep)]),
        "twice before": template(ids, [special(cls), special(cls), A, special(sep)], [special(cls), special(cls), A, special(sep), B1, special(sep, 1)]),
    }


def bert_like(make):
    for name in ("Bert", "DistilBert", "Electra", "MobileBert", "ConvBert", "SqueezeBert", "MPNet", "LayoutLM", "Lxmert", "DPRQuestionEncoder"):
        for lower in (True, False):
            make.attempt(f"{name} lower={lower}", name, {"do_lower_case": lower})
    for lower in (True, False):
        for accents in (True, False):
            make.attempt(f"Bert lower={lower} accents={accents}", "Bert", {"do_lower_case": lower, "strip_accents": accents})
        make.attempt(f"Bert lower={lower} chinese=False", "Bert", {"do_lower_case": lower, "tokenize_chinese_chars": False})
    for name in ("Bert", "MPNet", "DistilBert"):
        for addition, then in ADDITIONS.items():
            for lower in (True, False):
                make.attempt(f"{name} lower={lower} {addition}", name, {"do_lower_case": lower}, then)
    old = "\n".join(wordpiece_vocabulary()) + "\n"
    stale = "\n".join(reversed(wordpiece_vocabulary())) + "\n"
    for addition in ("words", "flags", "entities"):
        then = ADDITIONS[addition]
        for lower in (True, False):
            edits = {
                "over vocab.txt": {"vocab.txt": old},
                "over another vocab.txt": {"vocab.txt": stale},
                "without tokenizer_config.json": {"tokenizer_config.json": None},
                "without decoder of added tokens": {"tokenizer_config.json": without("added_tokens_decoder")},
                "only vocab.txt and the config": {"vocab.txt": old, "tokenizer.json": None},
                "case changed in the config": {"tokenizer_config.json": set_key(do_lower_case=not lower)},
                "accents in the config": {"tokenizer_config.json": set_key(strip_accents=not lower)},
                "chinese in the config": {"tokenizer_config.json": set_key(tokenize_chinese_chars=False)},
                "older added_tokens.json": {"tokenizer_config.json": without("added_tokens_decoder"), "added_tokens.json": json.dumps({"<ent>": 900, "older": 901})},
                "older special_tokens_map.json": {"special_tokens_map.json": json.dumps({"cls_token": "[CLS]", "mask_token": "[MASK]", "sep_token": "[SEP]",
                                                                                         "additional_special_tokens": ["Special"]})},
                "only vocab.txt and older files": {
                    "vocab.txt": old, "tokenizer.json": None, "tokenizer_config.json": without("added_tokens_decoder"),
                    "special_tokens_map.json": json.dumps({"unk_token": "[MASK]", "additional_special_tokens": ["Special"]}),
                    "added_tokens.json": json.dumps({"Special": len(wordpiece_vocabulary()), "NewWord": len(wordpiece_vocabulary()) + 1})},
                "older map, no decoder": {"tokenizer_config.json": without("added_tokens_decoder"),
                                          "special_tokens_map.json": json.dumps({"sep_token": "[SEP]", "additional_special_tokens": ["Special", "<ent>"]})},
                "decoder with another token": {"tokenizer_config.json": lambda c: c.update(added_tokens_decoder=(c.get("added_tokens_decoder") or {}) | {
                    "1000": {"content": "SPECIAL", "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}})},
            }
            for what, edit in edits.items():
                if addition == "words" or what in ("without decoder of added tokens", "over vocab.txt", "older map, no decoder"):
                    make.attempt(f"Bert lower={lower} {addition} {what}", "Bert", {"do_lower_case": lower}, then, edit=edit)
    config = dict(config={"model_type": "bert"})
    ids = {p: i for i, p in enumerate(wordpiece_vocabulary())}
    for cls in ("BertTokenizer", "BertTokenizerFast", "ConvBertTokenizer", "PreTrainedTokenizerFast", "TokenizersBackend", "DistilBertTokenizerFast", None):
        set_class = set_key(tokenizer_class=cls) if cls else without("tokenizer_class")
        for what, normalizer in NORMALIZERS.items():
            make.attempt(f"{cls} normalizer {what}", "Bert", {}, add_words, **config,
                         edit={"tokenizer.json": json_pipeline(normalizer=normalizer), "tokenizer_config.json": set_class})
        for what, post in templates("[CLS]", "[SEP]", ids).items():
            make.attempt(f"{cls} {what}", "Bert", {}, add_words, **config,
                         edit={"tokenizer.json": json_pipeline(post_processor=post), "tokenizer_config.json": set_class})
        make.attempt(f"{cls} words of 20", "Bert", {}, **config, edit={"tokenizer.json": lambda c: c["model"].update(max_input_chars_per_word=20),
                                                                         "tokenizer_config.json": set_class})
        make.attempt(f"{cls} whitespace", "Bert", {}, **config, edit={"tokenizer.json": json_pipeline(pre_tokenizer={"type": "WhitespaceSplit"}),
                                                                        "tokenizer_config.json": set_class})
        make.attempt(f"{cls} truncation and padding", "Bert", {}, **config, edit={"tokenizer.json": json_pipeline(
            truncation={"direction": "Right", "max_length": 512, "strategy": "LongestFirst", "stride": 0},
            padding={"strategy": "BatchLongest", "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]"}),
            "tokenizer_config.json": set_class})
    for what, config in {"class in the config": {"model_type": "bert", "tokenizer_class": "BertTokenizer"}, "class of another": {"model_type": "roberta", "tokenizer_class": "BertTokenizer"},
                         "xlm class": {"model_type": "bert", "tokenizer_class": "XLMRobertaTokenizer"}}.items():
        make.attempt(f"Bert {what}", "Bert", {}, config=config, edit={"tokenizer_config.json": without("tokenizer_class")})
    make.attempt("Bert without model_type", "Bert", {"do_lower_case": False}, config={})
    make.attempt("Bert of roberta", "Bert", {"do_lower_case": False}, config={"model_type": "roberta"})
    make.attempt("Bert of xlm-roberta", "Bert", {}, config={"model_type": "xlm-roberta"})
    make.attempt("Bert of modernbert", "Bert", {"do_lower_case": False}, config={"model_type": "modernbert"})
    make.attempt("only tokenizer.json of bert", "Bert", {"do_lower_case": False}, add_words, edit={"tokenizer_config.json": None})
    make.attempt("Bert unk", "Bert", {"unk_token": "[MASK]", "cls_token": "[SEP]"})
    make.attempt("Bert left", "Bert", {"truncation_side": "left", "padding_side": "left", "model_max_length": 64})


def byte_level(make):
    for name in ("Roberta", "Longformer", "Bart", "GPT2", "Deberta"):
        for prefix in (True, False):
            make.attempt(f"{name} prefix={prefix}", name, {"add_prefix_space": prefix})
    for name in ("Roberta", "Deberta"):
        for addition, then in ADDITIONS.items():
            make.attempt(f"{name} {addition}", name, {}, then)
        make.attempt(f"{name} prefix changed in the config", name, {}, edit={"tokenizer_config.json": set_key(add_prefix_space=True)})
        make.attempt(f"{name} without tokenizer_config.json", name, {"add_prefix_space": True}, edit={"tokenizer_config.json": None})
        make.attempt(f"{name} without decoder", name, {}, add_words, edit={"tokenizer_config.json": without("added_tokens_decoder")})
    make.attempt("Roberta trim", "Roberta", {"trim_offsets": False})
    for cls in ("RobertaTokenizer", "PreTrainedTokenizerFast", "TokenizersBackend", None):
        set_class = set_key(tokenizer_class=cls) if cls else without("tokenizer_class")
        for what, parts in {"normalizer": dict(normalizer=LOWER), "no template": dict(post_processor=None),
                            "digits": dict(pre_tokenizer={"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": True},
                                           {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}]}),
                            "prefix": dict(pre_tokenizer={"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True})}.items():
            make.attempt(f"{cls} {what}", "Roberta", {}, add_words, edit={"tokenizer.json": json_pipeline(**parts), "tokenizer_config.json": set_class})
    make.attempt("Roberta of modernbert", "Roberta", {}, config={"model_type": "modernbert"})
    make.attempt("Roberta of bert", "Roberta", {}, config={"model_type": "bert"})
    make.attempt("Roberta class in the config", "Roberta", {}, config={"model_type": "bert", "tokenizer_class": "RobertaTokenizer"},
                 edit={"tokenizer_config.json": without("tokenizer_class")})
    make.attempt("Herbert", "Herbert", {})
    make.attempt("Herbert words", "Herbert", {}, add_words)
    make.attempt("Herbert class in the config", "Herbert", {}, config={"model_type": "bert", "tokenizer_class": "HerbertTokenizerFast"},
                 edit={"tokenizer_config.json": without("tokenizer_class")})


def unigram(make):
    for name in ("XLMRoberta", "Camembert", "Albert", "DebertaV2", "T5", "BigBird", "RemBert"):
        make.attempt(name, name, {})
        for addition, then in ADDITIONS.items():
            make.attempt(f"{name} {addition}", name, {}, then)
        make.attempt(f"{name} without decoder", name, {}, add_words, edit={"tokenizer_config.json": without("added_tokens_decoder")})
        if name not in ("BigBird", "RemBert"):  # berth has no models of these
            make.attempt(f"{name} without tokenizer_config.json", name, {}, edit={"tokenizer_config.json": None})
        make.attempt(f"{name} of bert", name, {}, config={"model_type": "bert"})
        make.attempt(f"{name} normalizer", name, {}, edit={"tokenizer.json": json_pipeline(normalizer=LOWER)})
        make.attempt(f"{name} generic class", name, {}, edit={"tokenizer_config.json": set_key(tokenizer_class="PreTrainedTokenizerFast")})
    ids = {p: i for i, (p, _) in enumerate(unigram_vocabulary(["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]))}
    for what, post in templates("[CLS]", "[SEP]", ids).items():
        make.attempt(f"Albert {what}", "Albert", {}, edit={"tokenizer.json": json_pipeline(post_processor=post)})
    for lower in (True, False):
        for keep in (True, False):
            make.attempt(f"Albert lower={lower} keep={keep}", "Albert", {"do_lower_case": lower, "keep_accents": keep})
        for punctuation in (True, False):
            make.attempt(f"DebertaV2 lower={lower} punct={punctuation}", "DebertaV2", {"do_lower_case": lower, "split_by_punct": punctuation})
    for name in ("XLMRoberta", "Camembert", "Albert", "DebertaV2"):
        make.attempt(f"{name} without prefix", name, {"add_prefix_space": False})
    make.attempt("Albert case changed", "Albert", {}, edit={"tokenizer_config.json": set_key(do_lower_case=False, keep_accents=True)})
    make.attempt("DebertaV2 case changed", "DebertaV2", {}, edit={"tokenizer_config.json": set_key(do_lower_case=True)})


def unknown(make):
    for cls in ("BertJapaneseTokenizer", "PhobertTokenizer", "BertweetTokenizer", "EsmTokenizer", "LukeTokenizer", "CanineTokenizer", "MyOwnTokenizer"):
        make.attempt(f"{cls} with tokenizer.json", "Bert", {}, edit={"tokenizer_config.json": set_key(tokenizer_class=cls)})


def rest(make):
    """Other flags of the classes, and special tokens that are replaced."""
    for name in ("Bert", "DistilBert", "MPNet", "Electra", "Roberta", "Deberta", "Herbert", "XLMRoberta", "Camembert", "Albert", "DebertaV2", "T5"):
        make.attempt(f"{name} cut left", name, {"truncation_side": "left", "padding_side": "left", "model_max_length": 64}, add_words)
    for name in ("Electra", "MobileBert", "ConvBert", "Longformer", "Bart", "Herbert", "LayoutLM"):
        for addition in ("names", "flags"):
            make.attempt(f"{name} {addition}", name, {}, ADDITIONS[addition])
    for kind in ("nomic_bert", "new", "jina_bert", "ernie", "megatron-bert", "visual_bert", "xlm-roberta-xl", "deberta-v2", "albert", "mpnet", "distilbert"):
        make.attempt(f"Bert of {kind}, class named", "Bert", {}, add_words, config={"model_type": kind})
        make.attempt(f"Bert of {kind}", "Bert", {}, add_words, config={"model_type": kind}, edit={"tokenizer_config.json": without("tokenizer_class")})
    for cls in ("RoFormerTokenizer", "NomicBertTokenizer", "XLNetTokenizerFast", "LlamaTokenizerFast", "DebertaV2TokenizerFast", "AlbertTokenizer", "MPNetTokenizer"):
        make.attempt(f"Bert as a {cls}", "Bert", {}, edit={"tokenizer_config.json": set_key(tokenizer_class=cls)})
        make.attempt(f"Roberta as a {cls}", "Roberta", {}, edit={"tokenizer_config.json": set_key(tokenizer_class=cls)})
    for name in ("Bert", "Roberta", "XLMRoberta", "Albert", "DebertaV2", "MPNet", "Deberta"):
        make.attempt(f"{name} saved twice", name, {}, add_flagged, over=name)
        make.attempt(f"{name} special tokens only", name, {}, lambda t: t.add_tokens(["newword", "<ent>"], special_tokens=True))
        make.attempt(f"{name} strange tokens", name, {}, lambda t: t.add_tokens([
            AddedToken("é", normalized=True), AddedToken("\u00c9COLE", normalized=True), AddedToken("##word", normalized=False), AddedToken("中", single_word=True),
            AddedToken("(in)", rstrip=True), AddedToken("\u0301", normalized=False), AddedToken("▁fox", normalized=True), AddedToken("Σ", normalized=True)]))


def over_others(make):
    """Saved over the files of another tokenizer, and without the tokenizer.json of the new one."""
    for old, new in itertools.permutations(("Bert", "Roberta", "XLMRoberta", "Albert", "DebertaV2", "MPNet"), 2):
        make.attempt(f"{new} over {old}", new, {}, add_words, over=old)
        make.attempt(f"{new} over {old} without tokenizer.json", new, {}, add_words, over=old, edit={"tokenizer.json": None})


def modern(make):
    """Tokenizers without a class, as ModernBERT's."""
    special = ["[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"]
    vocabulary, merges = bpe_vocabulary(special)
    for what, normalizer in {"NFC": normalizers.NFC(), "no normalizer": None, "NFKC and lower": normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])}.items():
        for prefix in (True, False):
            inner = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
            if normalizer:
                inner.normalizer = normalizer
            inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
            inner.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]",
                                                                  special_tokens=[("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])])
            inner.add_tokens([AddedToken(" " * n, normalized=True) for n in range(24, 1, -1)] + [AddedToken("|||EMAIL|||", normalized=True)])
            for side in ("right", "left"):
                tokenizer = transformers.PreTrainedTokenizerFast(
                    tokenizer_object=inner, unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]", pad_token="[PAD]", truncation_side=side,
                    mask_token=AddedToken("[MASK]", lstrip=True), model_max_length=8192, model_input_names=["input_ids", "attention_mask"])
                make.save(f"ModernBERT {what} prefix={prefix} {side}", "", tokenizer, config={"model_type": "modernbert"})


def slow(make):
    """Tokenizers in Python as version 4 saves them: without tokenizer.json."""
    if NEW:
        return
    for name in ("Bert", "DistilBert", "Electra", "MPNet", "Roberta", "Longformer", "Bart", "GPT2", "Deberta", "XLMRoberta", "Camembert", "Albert", "DebertaV2", "T5", "Herbert"):
        make.attempt(f"slow {name}", name, {}, slow=True)
        make.attempt(f"slow {name} cut left", name, {"truncation_side": "left"}, add_words, slow=True)
        for addition, then in ADDITIONS.items():
            make.attempt(f"slow {name} {addition}", name, {}, then, slow=True)
        make.attempt(f"slow {name} without tokenizer_config.json", name, {}, add_words, slow=True, edit={"tokenizer_config.json": None})
        make.attempt(f"slow {name} without decoder", name, {}, add_words, slow=True, edit={"tokenizer_config.json": without("added_tokens_decoder")})
    for flags in ({"do_lower_case": False}, {"strip_accents": False}, {"tokenize_chinese_chars": False}, {"do_basic_tokenize": False}, {"never_split": ["fox"]}):
        make.attempt(f"slow Bert {flags}", "Bert", flags, slow=True)
    for flags in ({"do_lower_case": False}, {"keep_accents": True}, {"remove_space": False}, {"sp_model_kwargs": {"enable_sampling": True}}):
        make.attempt(f"slow Albert {flags}", "Albert", flags, slow=True)
    for flags in ({"do_lower_case": True}, {"split_by_punct": True}):
        make.attempt(f"slow DebertaV2 {flags}", "DebertaV2", flags, slow=True)
    for name in ("Roberta", "Deberta", "Longformer"):
        make.attempt(f"slow {name} prefix", name, {"add_prefix_space": True}, slow=True)
    for word in ("basic", "mecab"):
        old = make.scratch / f"japanese{word}"
        old.mkdir(exist_ok=True)
        (old / "vocab.txt").write_text("\n".join(make.pieces("Bert")) + "\n")
        try:
            tokenizer = transformers.BertJapaneseTokenizer(str(old / "vocab.txt"), word_tokenizer_type=word)
            make.save(f"slow BertJapanese {word}", "Bert", tokenizer)
        except Exception as error:
            print(f"not made: slow BertJapanese {word}: {error!r}"[:200])


def real(root, vocabularies):
    """Tokenizers with published vocabularies."""
    make = Maker(root)
    for what, name, flags in (("bert_uncased", "Bert", {}), ("bert_cased", "Bert", {"do_lower_case": False}), ("bert_uncased", "DistilBert", {}),
                              ("bert_cased", "Electra", {"do_lower_case": False}), ("roberta-base", "Roberta", {}), ("roberta-base", "Longformer", {}), ("t5", "T5", {})):
        folder = make.scratch / f"{what} of {name}"
        if not folder.exists():
            shutil.copytree(vocabularies / what, folder)
            for file in folder.glob("t*.model"):
                file.rename(folder / "spiece.model")
            (folder / "config.json").write_text(json.dumps({"model_type": CONFIGS[name]}))
        for lazy in ("", "Fast") if not NEW else ("",):
            for addition, then in ({"as it is": None} | ADDITIONS).items():
                tokenizer = getattr(transformers, name + "Tokenizer" + lazy).from_pretrained(folder, **flags)
                if then:
                    then(tokenizer)
                make.save(f"{what} of {name}{lazy}, {addition}", name, tokenizer)
    return make.made


def make_all(root):
    make = Maker(root)
    for part in (bert_like, byte_level, unigram, unknown, rest, over_others, modern, slow):
        part(make)
    return make.made


def asked(folder, texts, pairs, **options):
    """What AutoTokenizer says: [ids of the texts, ids and types of the pairs (None: there are no types)], or the error."""
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        singles = tokenizer(texts, **options)["input_ids"]
        encoded = tokenizer([a for a, _ in pairs], [b for _, b in pairs], **options)
        types = encoded["token_type_ids"] if "token_type_ids" in encoded else [None] * len(pairs)
        return singles, list(zip(encoded["input_ids"], types))
    except Exception as error:
        return repr(error)


def main():
    import lone_vocabularies
    import tokenizer_folders  # the module that lone_vocabularies has, too

    tokenizer_folders.widen()
    made = tokenizer_folders.make_all(sys.argv[1])
    if len(sys.argv) > 2:
        made |= tokenizer_folders.real(sys.argv[1], pathlib.Path(sys.argv[2]) / "vocab")
    if NEW:
        made |= lone_vocabularies.make_all(sys.argv[1])
    print(f"{len(made)} folders by transformers {transformers.__version__}")


if __name__ == "__main__":
    main()
