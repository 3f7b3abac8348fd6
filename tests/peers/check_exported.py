#!/usr/bin/env python3
"""Takes a small random model of every architecture from transformers through berth and back.

    python tests/peers/check_exported.py BERTH

transformers saves a classifier with a tokenizer for each architecture. Then three things are checked:
- `berth --mode predict` gives the probabilities of transformers (to 1e-4).
- A short job exports model/. transformers loads it without missing or unexpected keys, gives the same token ids, and gives the
  probabilities that berth predicts with it.
- `berth --mode convert` preserves every tensor of each head (classes of sequences, classes of tokens, masked words, choices) bit for bit.
  transformers loads the new folder without missing or unexpected keys, and its logits equal those of the old folder.
The tokenizers are trained here on the bundled sample. Needs torch, transformers 4.40, sentencepiece and protobuf.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"

import sentencepiece  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
from safetensors.torch import load_file  # noqa: E402
from tokenizers import BertWordPieceTokenizer, ByteLevelBPETokenizer  # noqa: E402
from transformers import AutoModelForSequenceClassification, AutoTokenizer  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "record"))
import small_models  # noqa: E402

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"
LENGTH = 48
TOLERANCE = 1e-4
SIZES = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, max_position_embeddings=64,
             initializer_range=0.2)
ROBERTA = SIZES | dict(type_vocab_size=1, layer_norm_eps=1e-5, pad_token_id=1, bos_token_id=0, eos_token_id=2)
DEBERTA_PIECES = dict(pad_id=0, bos_id=1, eos_id=2, unk_id=3, pad_piece="[PAD]", bos_piece="[CLS]", eos_piece="[SEP]",
                      unk_piece="[UNK]")
# Architecture: (prefix of the classes in transformers, configuration, file of the tokenizer, how to train the tokenizer).
ARCHITECTURES = {
    "bert": ("Bert", SIZES, "vocab.txt", {}),
    "roberta": ("Roberta", ROBERTA, "vocab.json", {}),
    "xlm-roberta": ("XLMRoberta", ROBERTA, "sentencepiece.bpe.model", {}),
    "distilbert": ("DistilBert", dict(dim=32, n_layers=2, n_heads=4, hidden_dim=64, max_position_embeddings=64,
                                      initializer_range=0.2), "vocab.txt", {}),
    "electra": ("Electra", SIZES | dict(embedding_size=16), "vocab.txt", {}),
    "albert": ("Albert", SIZES | dict(embedding_size=16, pad_token_id=0, hidden_act="gelu_new"), "spiece.model",
               dict(pad_id=0, unk_id=1, bos_id=-1, eos_id=-1, control_symbols=["[CLS]", "[SEP]", "[MASK]"])),
    "deberta-v2": ("DebertaV2", SIZES | dict(type_vocab_size=0, relative_attention=True, position_buckets=8,
                                             max_relative_positions=-1, pos_att_type=["p2c", "c2p"], share_att_key=True,
                                             norm_rel_ebd="layer_norm", position_biased_input=False, layer_norm_eps=1e-7),
                   "spm.model", DEBERTA_PIECES),
}
# The convolution of DeBERTa-v2-xlarge.
ARCHITECTURES["deberta-v2-convolved"] = ("DebertaV2", ARCHITECTURES["deberta-v2"][1] | dict(conv_kernel_size=3, conv_act="gelu"),
                                         *ARCHITECTURES["deberta-v2"][2:])
TASKS = ("ForSequenceClassification", "ForTokenClassification", "ForMaskedLM", "ForMultipleChoice")


def sample():
    return {path.stem: path.read_text().split("\n")[:-1] for path in sorted((EXAMPLES / "topics").glob("*.txt"))}


def train_tokenizer(folder, file, options, corpus):
    if file.endswith(".model"):
        sentencepiece.SentencePieceTrainer.train(input=str(corpus), model_prefix=str(folder / file[: -len(".model")]),
                                                 vocab_size=900, minloglevel=2, **options)
        (folder / (file[: -len(".model")] + ".vocab")).unlink()
        return
    if file == "vocab.txt":
        tokenizer = BertWordPieceTokenizer()
        tokenizer.train(str(corpus), vocab_size=900, show_progress=False)
    else:
        tokenizer = ByteLevelBPETokenizer()
        tokenizer.train(str(corpus), vocab_size=900, show_progress=False,
                        special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
    tokenizer.save_model(str(folder))


def berth(*arguments):
    done = subprocess.run([BERTH, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        raise SystemExit(f"berth {' '.join(map(str, arguments))}\n{done.stderr.decode()}")
    return done.stdout.decode()


def load_tokenizer(folder):
    return AutoTokenizer.from_pretrained(folder, use_fast=(folder / "tokenizer.json").exists())


class Check:
    def __init__(self, scratch):
        self.scratch, self.failures = scratch, 0

    def expect(self, holds, what):
        print(("ok      " if holds else "FAILED  ") + what, flush=True)
        self.failures += not holds

    def predictions(self, what, folder, texts):
        """Compares berth's probabilities and ids for a folder with those of transformers."""
        file = self.scratch / "texts.jsonl"
        file.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
        model, report = AutoModelForSequenceClassification.from_pretrained(folder, output_loading_info=True)
        keys = {name: list(found) for name, found in report.items() if found}
        self.expect(not keys, f"{what}: transformers finds every key and no other {keys or ''}")
        model.eval()
        labels = [model.config.id2label[i] for i in range(model.config.num_labels)]
        tokenizer = load_tokenizer(folder)
        lines = berth("--mode", "tokenize", "--model", folder, "--input", file).split("\n")[:-1]
        wrong = sum(json.loads(line)["ids"] != tokenizer(text)["input_ids"] for line, text in zip(lines, texts, strict=True))
        self.expect(wrong == 0, f"{what}: ids of {len(texts)} texts differ in {wrong}")
        out = berth("--mode", "predict", "--predict-data-file", file, "--model", folder, "--max-seq-length", LENGTH,
                    "--precision", "fp32")
        rows = [line.split("\t") for line in out.split("\n")[:-1]]
        self.expect(rows[0] == ["id", "prediction", *labels] and len(rows) == len(texts) + 1, f"{what}: a row a text {rows[0]}")
        largest, ours = 0.0, []
        with torch.no_grad():
            for row, text in zip(rows[1:], texts):
                if not text:
                    self.expect(not any(row[1:]), f"{what}: the row of an empty text has no prediction")
                    continue
                inputs = tokenizer(text, truncation=True, max_length=LENGTH, return_tensors="pt")
                theirs = model(**inputs).logits.softmax(-1)[0].double()
                ours.append(torch.tensor([float(value) for value in row[2:]], dtype=torch.float64))
                largest = max(largest, float((theirs - ours[-1]).abs().max()))
        spread = float(torch.stack(ours).std(0).max())
        self.expect(largest < TOLERANCE, f"{what}: probabilities differ by at most {largest:.1e}")
        self.expect(spread > 100 * TOLERANCE, f"{what}: texts differ by {spread:.1e}, so that this says something")

    def converted(self, what, folder, out, texts):
        """Checks that a conversion preserves every tensor that transformers saved, and the logits."""
        berth("--mode", "convert", "--model", folder, "--export-dir", out, "--export-format", "safetensors")
        theirs, ours = read_tensors(folder), load_file(out / "model.safetensors")
        same = lambda a, b: a.dtype == b.dtype and a.shape == b.shape and a.numpy().tobytes() == b.numpy().tobytes()  # noqa: E731
        wrong = [name for name, value in theirs.items() if name not in ours or not same(value, ours[name])]
        other = sorted(set(ours) - set(theirs))
        self.expect(not wrong and not other, f"{what}: {len(theirs)} tensors converted, different {wrong}, of berth's alone {other}")
        (architecture,) = json.loads((folder / "config.json").read_text())["architectures"]
        load = getattr(transformers, architecture).from_pretrained
        model, report = load(out, output_loading_info=True)
        keys = {name: list(found) for name, found in report.items() if found}
        self.expect(not keys, f"{what}: transformers finds every key of what was converted and no other {keys or ''}")
        before, after = logits_of(load(folder), load_tokenizer(folder), texts), logits_of(model, load_tokenizer(out), texts)
        self.expect(all(map(torch.equal, before, after)), f"{what}: {len(texts)} logits of shape {[*before[0].shape]} as before")


def logits_of(model, tokenizer, texts):
    model.eval()
    made = [tokenizer(text, truncation=True, max_length=LENGTH, return_tensors="pt") for text in texts]
    if type(model).__name__.endswith("ForMultipleChoice"):  # each text is a row of one choice
        made = [{name: value.unsqueeze(0) for name, value in each.items()} for each in made]
    with torch.no_grad():
        return [model(**each).logits for each in made]


def read_tensors(folder):
    file = folder / "model.safetensors"
    return load_file(file) if file.exists() else torch.load(folder / "pytorch_model.bin")


def save_model(folder, architecture, task, vocab_size, safe=True):
    prefix, sizes, _, _ = ARCHITECTURES[architecture]
    labels = list(sample())
    model = small_models.make_model(prefix, task, 11, **sizes, vocab_size=vocab_size, id2label=dict(enumerate(labels)),
                                    label2id={label: i for i, label in enumerate(labels)})
    model.save_pretrained(folder, safe_serialization=safe)


def check_architecture(check, scratch, architecture, texts, corpus):
    prefix, _, file, options = ARCHITECTURES[architecture]
    source = scratch / f"{architecture}-source"
    source.mkdir()
    train_tokenizer(source, file, options, corpus)
    slow = getattr(transformers, prefix + "Tokenizer").from_pretrained(source)
    fast = getattr(transformers, prefix + "TokenizerFast").from_pretrained(source)
    folder = scratch / architecture
    save_model(folder, architecture, TASKS[0], len(slow))
    fast.save_pretrained(folder)
    check.predictions(f"{architecture}, saved by transformers", folder, texts)

    # Also test the layout without tokenizer.json and with PyTorch's own file.
    older = scratch / f"{architecture}-bin"
    save_model(older, architecture, TASKS[0], len(slow), safe=False)
    slow.save_pretrained(older)
    check.predictions(f"{architecture}, .bin and {file}", older, texts)

    for start in (folder, older):
        job = scratch / f"{start.name}-job"
        berth("--train-data-file", EXAMPLES / "data" / "df.pickle", "--model", start, "--job-dir", job, "--epochs", 1,
              "--batch-size", 32, "--learning-rate", 1e-3, "--data-fraction", 0.25, "--max-seq-length", LENGTH)
        check.predictions(f"{start.name}, trained and exported by berth", job / "model", texts)
        theirs, ours = read_tensors(start), load_file(job / "model" / "model.safetensors")
        moved = sum(name in theirs and not torch.equal(value, theirs[name]) for name, value in ours.items())
        print(f"        {start.name}: {moved} of {len(ours)} exported tensors moved; dropped {sorted(set(theirs) - set(ours))},"
              f" created {sorted(set(ours) - set(theirs))}")

    for task in TASKS:
        for safe in (True, False) if architecture == "bert" else (True,):
            what = f"{architecture}{task}{'' if safe else ' of a .bin'}"
            start = scratch / what
            save_model(start, architecture, task, len(slow), safe)
            fast.save_pretrained(start)
            check.converted(what, start, scratch / f"{what} converted", texts[::5])


def main():
    scratch = pathlib.Path(tempfile.mkdtemp())
    check = Check(scratch)
    texts = [text for topic in sample().values() for text in topic[::7]] + ["", "a", "It was 5 o'clock. " * 20]
    corpus = scratch / "corpus"
    corpus.write_text("\n".join(text for topic in sample().values() for text in topic))
    for architecture in sys.argv[2:] or ARCHITECTURES:
        check_architecture(check, scratch, architecture, texts, corpus)
    shutil.rmtree(scratch)
    print(f"{check.failures} failures")
    return 1 if check.failures else 0


BERTH = sys.argv[1]
if __name__ == "__main__":
    sys.exit(main())
