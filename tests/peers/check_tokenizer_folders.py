#!/usr/bin/env python3
"""Compares `berth --mode tokenize` with transformers on folders as save_pretrained() writes them.

    python tests/peers/check_tokenizer_folders.py BERTH TOKENIZE_LINES SHARED_DATA

Each family has three layouts:
- "bare": config.json and the vocabulary or the .model file,
- "slow": also tokenizer_config.json and special_tokens_map.json,
- "fast": also tokenizer.json.
The reference for ids and offsets is the fast tokenizer of the folder. Run this script with 4.40 and with the current version. Both
a .model file and the tokenizer.json that 4.40 makes of one mean another tokenizer in transformers 4 than in 5, as which berth reads
them. So 4.40 is asked about the other families only; check_tokenizer_variants.py compares what it has written.
The SentencePiece models are trained here. TOKENIZE_LINES gives truncated ids. Needs sentencepiece and protobuf.
"""
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "record"))

import sentencepiece  # noqa: E402
import transformers  # noqa: E402

from check_subword import real_texts  # noqa: E402
from torture_texts import TEXTS, random_texts  # noqa: E402

OLD = int(transformers.__version__.split(".")[0]) < 5
LENGTHS = (5, 8, 32)
REAL_TEXTS = 2000
BERT_PIECES = dict(pad_id=0, unk_id=1, bos_id=-1, eos_id=-1, pad_piece="<pad>", user_defined_symbols=["(", ")", "-"],
                   control_symbols=["[CLS]", "[SEP]", "[MASK]"])
DEBERTA_PIECES = dict(pad_id=0, bos_id=1, eos_id=2, unk_id=3, pad_piece="[PAD]", bos_piece="[CLS]", eos_piece="[SEP]",
                      unk_piece="[UNK]")
MIXED = dict(split_by_number=False, split_by_unicode_script=False)
# Family: (class name without "Tokenizer", model_type, name of the .model file or None, how to train it or the folder of the
# vocabulary, settings).
FAMILIES = {
    "bert uncased": ("Bert", "bert", None, "bert_uncased", {}),
    "bert cased": ("Bert", "bert", None, "bert_cased", dict(do_lower_case=False)),
    "distilbert": ("DistilBert", "distilbert", None, "bert_uncased", {}),
    "electra": ("Electra", "electra", None, "bert_uncased", {}),
    "roberta": ("Roberta", "roberta", None, "roberta-base", {}),
    "xlm-roberta": ("XLMRoberta", "xlm-roberta", "sentencepiece.bpe.model", {}, {}),
    "camembert": ("Camembert", "camembert", "sentencepiece.bpe.model", {}, {}),
    "albert": ("Albert", "albert", "spiece.model", BERT_PIECES | MIXED, {}),
    "albert as written": ("Albert", "albert", "spiece.model", BERT_PIECES, dict(do_lower_case=False, keep_accents=True)),
    "deberta-v2": ("DebertaV2", "deberta-v2", "spm.model", DEBERTA_PIECES, {}),
    "deberta-v2 lower-cased": ("DebertaV2", "deberta-v2", "spm.model", DEBERTA_PIECES, dict(do_lower_case=True)),
    "t5": ("T5", "t5", "spiece.model", dict(pad_id=0, eos_id=1, unk_id=2, bos_id=-1), {}),
}

BARE_MODELS = {
    "unigram": {},
    "unigram with symbols": dict(user_defined_symbols=["(", ")", "-"]) | MIXED,
    "bpe": dict(model_type="bpe"),
    "bpe with bytes": dict(model_type="bpe", byte_fallback=True),
}


def train(path, corpus, **options):
    sentencepiece.SentencePieceTrainer.train(
        input=str(corpus), model_prefix=str(path.with_suffix("")), hard_vocab_limit=False, minloglevel=2,
        **({"vocab_size": 4000} | options)
    )


def make_folders(scratch, data, corpus, name):
    """The folders of a family by layout. Empty if its vocabulary is absent."""
    class_name, model_type, model_file, source, settings = FAMILIES[name]
    if not model_file and not (data / "vocab" / source).exists():
        print(f"SKIPPED: {name}, no {source} at {data}")
        return {}
    folders = {layout: scratch / f"{name}, {layout}" for layout in ("bare", "slow", "fast")}
    bare = folders["bare"]
    bare.mkdir()
    if model_file:
        train(bare / model_file, corpus, **source)
        (bare / (pathlib.Path(model_file).stem + ".vocab")).unlink()
    else:
        for file in ("vocab.txt", "vocab.json", "merges.txt"):
            if (data / "vocab" / source / file).exists():
                shutil.copy(data / "vocab" / source / file, bare / file)
    (bare / "config.json").write_text(json.dumps({"model_type": model_type}))
    # No reader can know a setting that no file states.
    if settings:
        (bare / "tokenizer_config.json").write_text(json.dumps(settings))
    saved = {"fast": getattr(transformers, class_name + "TokenizerFast").from_pretrained(bare)}
    if OLD:
        saved["slow"] = getattr(transformers, class_name + "Tokenizer").from_pretrained(bare)
    else:
        del folders["slow"]
    for layout, tokenizer in saved.items():
        tokenizer.save_pretrained(folders[layout])
        shutil.copy(bare / "config.json", folders[layout])
    return folders


def run(command, given=""):
    done = subprocess.run(command, input=given.encode(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        raise SystemExit(f"{command}: {done.stderr.decode()}")
    return done.stdout.decode()


def asked(tokenizer, inputs, **options):
    """The ids and the offsets."""
    ids, offsets = [], []
    for value in inputs:
        done = tokenizer(*(value if isinstance(value, list) else [value]), return_offsets_mapping=True, **options)
        ids.append(done["input_ids"])
        offsets.append([list(span) for span in done["offset_mapping"]])
    return ids, offsets


class Check:
    def __init__(self, berth, driver, scratch):
        self.berth, self.driver, self.scratch, self.differences = berth, driver, scratch, 0

    def ours(self, folder, inputs):
        file = self.scratch / "inputs.jsonl"
        pairs = [value if isinstance(value, list) else [value] for value in inputs]
        file.write_text("".join(json.dumps(dict(zip(("text", "text_pair"), pair))) + "\n" for pair in pairs))
        command = [self.berth, "--mode", "tokenize", "--model", str(folder), "--input", str(file)]
        lines = run(command).split("\n")[:-1]
        done = [json.loads(line) for line in lines]
        return [one["ids"] for one in done], [one["offsets"] for one in done]

    def truncated(self, folder, inputs, length):
        lines = "".join(json.dumps(value) + "\n" for value in inputs)
        done = run([self.driver, str(folder), str(length)], lines)
        return [[int(i) for i in line.split()] for line in done.split("\n")[:-1]]

    def compare(self, what, inputs, theirs, ours):
        assert len(inputs) == len(theirs) == len(ours), what
        wrong = [i for i, t in enumerate(theirs) if t != ours[i]]
        self.differences += len(wrong)
        print(f"{what}: {len(inputs) - len(wrong)} of {len(inputs)} equal", flush=True)
        for i in wrong[:3]:
            print(f"  {inputs[i]!r}\n    theirs {theirs[i]}\n    ours   {ours[i]}")

    def folder(self, what, folder, tokenizer, inputs):
        """`inputs` is a dict: name -> texts or pairs."""
        for kind, values in inputs.items():
            ids, offsets = asked(tokenizer, values)
            our_ids, our_offsets = self.ours(folder, values)
            self.compare(f"{what}, {kind}", values, ids, our_ids)
            self.compare(f"{what}, {kind}, offsets", values, offsets, our_offsets)
        for length in LENGTHS:
            for kind in ("torture", "pairs"):
                if kind in inputs:
                    ids = asked(tokenizer, inputs[kind], truncation=True, max_length=length)[0]
                    self.compare(f"{what}, {kind}, {length} ids", inputs[kind], ids, self.truncated(folder, inputs[kind], length))


def without(text, inputs):
    return {kind: [value for value in values if text not in "".join(value)] for kind, values in inputs.items()}


def inputs_for(name, layout, inputs):
    """The inputs for which the tokenizer is a reference."""
    if name == "roberta" and layout != "fast" and OLD:
        return without("<mask>", inputs)  # strips the spaces before <mask>, as the published tokenizer.json says; version 5 does not
    return inputs


def check_bare_models(check, corpus, texts):
    """Without a configuration: the ids of the model, with the special tokens that its control pieces suggest."""
    draw = random.Random(2)  # draws among segmentations of equal score behind user-defined pieces
    texts = texts + ["".join(draw.choices("(-)", k=40) + draw.choices("/!.", k=12)) for _ in range(1000)]
    for name, options in BARE_MODELS.items():
        folder = check.scratch / f"bare {name}"
        folder.mkdir()
        train(folder / "spiece.model", corpus, **options)
        processor = sentencepiece.SentencePieceProcessor(model_file=str(folder / "spiece.model"))
        ids = [[1, *processor.encode(text), 2] for text in texts]
        check.compare(f"bare spiece.model, {name}", texts, ids, check.ours(folder, texts)[0])


def main():
    data, scratch = pathlib.Path(sys.argv[3]), pathlib.Path(tempfile.mkdtemp())
    check = Check(sys.argv[1], sys.argv[2], scratch)
    real = real_texts(data)
    if not real:
        print(f"SKIPPED: no real texts at {data}")
    real = real[:: max(1, len(real) // REAL_TEXTS)]
    corpus = scratch / "corpus"
    corpus.write_text("\n".join(t.replace("\n", " ") for t in real + TEXTS * 3))
    angled = [t.replace("[CLS]", "<s>").replace("[SEP]", "</s>").replace("[MASK]", "<mask>").replace("[PAD]", "<pad>")
              .replace("[UNK]", "<unk>") for t in TEXTS if "[" in t]
    # Letters for which the Unicode version of the older library has no lower case.
    texts = [t for t in TEXTS if not OLD or "\U00016ea0" not in t]
    torture = texts + angled + random_texts(1000)
    pairs = [[a, b] for a in texts[::3] for b in (texts + angled)[1::4]]
    inputs = {"torture": torture, "pairs": pairs, "real": real, "real pairs": [list(p) for p in zip(real[::5], real[1::5])]}
    print(f"transformers {transformers.__version__}")
    check_bare_models(check, corpus, [t for t in torture if "<" not in t] + real)
    for name in sys.argv[4:] or FAMILIES:
        class_name, _, model_file, _, _ = FAMILIES[name]
        fast_class = getattr(transformers, class_name + "TokenizerFast")
        for layout, folder in make_folders(scratch, data, corpus, name).items():
            if not (OLD and model_file):
                check.folder(f"{name}, {layout}", folder, fast_class.from_pretrained(folder), inputs_for(name, layout, inputs))
    shutil.rmtree(scratch)
    print(f"{check.differences} differences")
    return 1 if check.differences else 0


if __name__ == "__main__":
    sys.exit(main())
