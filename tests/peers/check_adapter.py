#!/usr/bin/env python3
"""Loads the LoRA adapters that berth exports into PEFT, on the model that they were trained on.

    python tests/peers/check_adapter.py BERTH [ARCHITECTURE...]

For each architecture and each choice of --lora-target-modules a short job exports its adapter. PEFT must add adapters to exactly
the dense layers that were chosen. It must hold the file's tensors under the file's names. Its probabilities must equal those that
berth predicts with the merged model (to 1e-4). Needs torch, transformers 4.40, peft 0.10, sentencepiece and protobuf.
"""
import json
import pathlib
import shutil
import sys
import tempfile

import check_exported as exported  # imported first, because it silences transformers

import peft
import torch
from safetensors.torch import load_file
from transformers import AutoConfig, AutoModelForSequenceClassification

# The number of dense layers in an encoder layer that each choice of --lora-target-modules selects.
BERTS = {"": 2, "key": 1, "attention.output.dense": 1, "output.dense": 2, "intermediate.dense,query": 2, "dense": 3, "all-linear": 6}
TARGETS = {"distilbert": {"": 2, "ffn.lin2": 1, "k_lin,out_lin,lin1": 3, "all-linear": 6},
           "albert": {"": 2, "attention.dense,ffn_output": 2, "ffn": 1, "all-linear": 6},
           "deberta-v2": {"": 2, "key_proj": 1, "query_proj,dense": 4, "all-linear": 6}}
ENCODER = (".layer.", ".albert_layers.")


def make_folder(scratch, architecture, corpus):
    """A random model with a tokenizer, as transformers saves them."""
    prefix, _, file, options = exported.ARCHITECTURES[architecture]
    source, folder = scratch / f"{architecture}-source", scratch / architecture
    source.mkdir()
    exported.train_tokenizer(source, file, options, corpus)
    tokenizer = getattr(exported.transformers, prefix + "TokenizerFast").from_pretrained(source)
    exported.save_model(folder, architecture, exported.TASKS[0], len(tokenizer))
    tokenizer.save_pretrained(folder)
    return folder


def check_targets(check, scratch, folder, architecture, targets, count):
    what = f"{architecture} {targets or 'by default'}"
    job = scratch / f"{architecture}-{targets or 'default'}"
    exported.berth("--train-data-file", exported.EXAMPLES / "data" / "df.pickle", "--model", folder, "--job-dir", job, "--max-steps", 12,
                   "--batch-size", 8, "--learning-rate", 2e-2, "--max-seq-length", exported.LENGTH, "--lora-rank", 4, "--lora-alpha", 16,
                   "--export-adapter", *(["--lora-target-modules", targets] if targets else []))
    config = AutoConfig.from_pretrained(job / "model")
    base = AutoModelForSequenceClassification.from_pretrained(folder, config=config)
    model = peft.PeftModel.from_pretrained(base, job / "model" / "adapter").eval()
    adapted = [name for name, module in model.named_modules() if isinstance(module, peft.tuners.lora.LoraLayer)]
    layers = 1 if architecture == "albert" else 2
    names = json.loads((job / "model" / "adapter" / "adapter_config.json").read_text())["target_modules"]
    inside = all(any(part in name for part in ENCODER) for name in adapted)
    check.expect(len(adapted) == count * layers and inside, f"{what}: {names} are {len(adapted)} dense layers")
    ours, theirs = load_file(job / "model" / "adapter" / "adapter_model.safetensors"), peft.get_peft_model_state_dict(model)
    check.expect(set(ours) == set(theirs) and all(torch.equal(ours[name], theirs[name]) for name in ours),
                 f"{what}: PEFT holds the {len(ours)} tensors of the file")
    texts = [text for topic in exported.sample().values() for text in topic[::20]]
    file = scratch / "texts.jsonl"
    file.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    out = exported.berth("--mode", "predict", "--predict-data-file", file, "--model", job / "model", "--max-seq-length", exported.LENGTH,
                         "--precision", "fp32")
    rows = torch.tensor([[float(value) for value in line.split("\t")[2:]] for line in out.split("\n")[1:-1]])
    tokenizer = exported.load_tokenizer(job / "model")
    with model.disable_adapter():
        plain = torch.cat(exported.logits_of(model, tokenizer, texts)).softmax(-1)
    merged = torch.cat(exported.logits_of(model, tokenizer, texts)).softmax(-1)
    largest, moved = float((merged - rows).abs().max()), float((plain - rows).abs().max())
    check.expect(largest < exported.TOLERANCE, f"{what}: probabilities differ by at most {largest:.1e}")
    check.expect(moved > 100 * exported.TOLERANCE, f"{what}: without adapters by {moved:.1e}, so that this says something")


def main():
    scratch = pathlib.Path(tempfile.mkdtemp())
    check = exported.Check(scratch)
    corpus = scratch / "corpus"
    corpus.write_text("\n".join(text for topic in exported.sample().values() for text in topic))
    for architecture in sys.argv[2:] or ("bert", "roberta", "distilbert", "electra", "albert", "deberta-v2"):
        folder = make_folder(scratch, architecture, corpus)
        for targets, count in TARGETS.get(architecture, BERTS).items():
            check_targets(check, scratch, folder, architecture, targets, count)
    shutil.rmtree(scratch)
    print(f"{check.failures} failures")
    return 1 if check.failures else 0


if __name__ == "__main__":
    sys.exit(main())
