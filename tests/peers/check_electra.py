#!/usr/bin/env python3
"""Takes the two networks of --task electra from berth to transformers and back.

    python tests/peers/check_electra.py BERTH

A short job pre-trains a small ELECTRA. transformers loads its discriminator as ElectraForPreTraining and its generator as
ElectraForMaskedLM, without missing or unexpected keys, and their embeddings are equal. transformers saves both, berth goes on with
them for one update of rate 0, and every tensor is the same bit for bit. Needs torch and transformers.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import torch
from safetensors.torch import load_file
from transformers import AutoTokenizer, ElectraForMaskedLM, ElectraForPreTraining

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"
VOCABULARY = EXAMPLES / "model" / "vocab.txt"
CONFIG = dict(model_type="electra", vocab_size=sum(1 for _ in open(VOCABULARY, encoding="utf-8")), embedding_size=16,
              hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, max_position_embeddings=64)


def train(berth, job, *flags):
    subprocess.run([berth, "--task", "electra", "--train-data-file", str(EXAMPLES / "topics" / "food.txt"), "--job-dir", str(job),
                    "--max-seq-length", "48", "--device", "cpu", *flags], check=True, stderr=subprocess.DEVNULL)


def load(kind, folder):
    model, report = kind.from_pretrained(folder, output_loading_info=True)
    for what in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        assert not report[what], f"{folder}: {what}: {report[what]}"
    return model.eval()


def main():
    berth = sys.argv[1]
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        (scratch / "config.json").write_text(json.dumps(CONFIG))
        train(berth, scratch / "job", "--init", "random", "--model-config", str(scratch / "config.json"), "--vocab-file",
              str(VOCABULARY), "--max-steps", "10")
        exported = scratch / "job" / "model"
        discriminator = load(ElectraForPreTraining, exported)
        generator = load(ElectraForMaskedLM, exported / "generator")
        assert generator.config.hidden_size == 8 and generator.config.num_attention_heads == 1
        words = discriminator.electra.embeddings.word_embeddings.weight
        assert torch.equal(words, generator.electra.embeddings.word_embeddings.weight)
        assert torch.equal(words, generator.generator_lm_head.weight), "the generator's output layer is not tied"
        tokenizer = AutoTokenizer.from_pretrained(exported)
        inputs = tokenizer("Fresh bread in the morning", return_tensors="pt")
        assert discriminator(**inputs).logits.shape == inputs["input_ids"].shape

        for model, folder in ((discriminator, "saved"), (generator, "saved-generator")):
            model.save_pretrained(scratch / folder)
            tokenizer.save_pretrained(scratch / folder)
        train(berth, scratch / "again", "--model", str(scratch / "saved"), "--generator", str(scratch / "saved-generator"),
              "--max-steps", "1", "--learning-rate", "1e-30")
        for part in ("", "generator"):
            before = load_file(exported / part / "model.safetensors")
            after = load_file(scratch / "again" / "model" / part / "model.safetensors")
            assert before.keys() == after.keys()
            for name, tensor in before.items():
                assert torch.equal(tensor, after[name]), name
    print("discriminator and generator: as expected")


if __name__ == "__main__":
    main()
