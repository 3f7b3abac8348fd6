"""Measures training steps of transformers' BERT in PyTorch. It is the counterpart of bench/step_bench.cpp.

    python bench/peer/step_torch.py THREADS fp32|bf16 MODEL BATCH LENGTH [--pad-to N] [--compile]

MODEL and LENGTH are those of step_bench: "base-mlm" trains BertForMaskedLM as run_mlm.py does, with labels for 15 % of the tokens,
and "news" or "documents" are the same lengths. Texts are padded to the longest of the batch, or to
--pad-to. bf16 uses torch.autocast. --compile uses torch.compile. Prints examples/s and the peak memory.
"""

import argparse
import pathlib
import re
import resource
import statistics
import time

import torch
from transformers import BertConfig, BertForMaskedLM, BertForSequenceClassification

parser = argparse.ArgumentParser()
parser.add_argument("threads", type=int)
parser.add_argument("precision", choices=("fp32", "bf16"))
parser.add_argument("model")
parser.add_argument("batch", type=int)
parser.add_argument("length")
parser.add_argument("--pad-to", type=int, default=0)
parser.add_argument("--compile", action="store_true")
options = parser.parse_args()
torch.set_num_threads(options.threads)
torch.manual_seed(1)

size = options.model.removesuffix("-mlm")
layers, hidden, heads = {"tiny": (2, 128, 2), "mini-lm": (6, 384, 12), "base": (12, 768, 12), "large": (24, 1024, 16)}[size]
of_task = BertForSequenceClassification if size == options.model else BertForMaskedLM
model = of_task(BertConfig(num_hidden_layers=layers, hidden_size=hidden, num_attention_heads=heads, intermediate_size=4 * hidden,
                           num_labels=2))
model.train()
source = (pathlib.Path(__file__).parents[2] / "trainer/model/random_batch.cpp").read_text()


def listed(name):
    return [int(number) for number in re.search(name + r" = \{([^}]*)\}", source).group(1).split(",")]


lengths = {"news": [listed("kNewsLengths")[b * 37 % 64] for b in range(options.batch)],
           "documents": [listed("kDocumentLengths")[b * 13 % 32] for b in range(options.batch)]}.get(options.length)
lengths = lengths or [int(options.length)] * options.batch
width = max(options.pad_to, *lengths, 0)
ids = torch.randint(1, 30522, (options.batch, width))
mask = torch.tensor([[int(i < length) for i in range(width)] for length in lengths])
labels = torch.arange(options.batch) % 2
if size != options.model:
    labels = torch.where((torch.arange(ids.numel()).view_as(ids) % 20 % 7 == 0) & (mask == 1), ids, -100)
plain = [p for n, p in model.named_parameters() if n.endswith("bias") or "LayerNorm" in n]
decayed = [p for n, p in model.named_parameters() if not (n.endswith("bias") or "LayerNorm" in n)]
optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": 0.01}, {"params": plain, "weight_decay": 0.0}], lr=1e-5)
run = torch.compile(model) if options.compile else model


def step():
    start = time.perf_counter()
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=options.precision == "bf16"):
        loss = run(input_ids=ids, attention_mask=mask, labels=labels).loss
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    loss.item()
    return time.perf_counter() - start


for _ in range(2):
    step()
seconds = []
while len(seconds) < 3 or sum(seconds) < 5:
    seconds.append(step())
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
print(f"{options.model} {options.batch} x {options.length} padded to {width}: {options.batch / statistics.median(seconds):.2f} examples/s"
      f"  {peak:.2f} GiB  torch {torch.__version__} {options.precision}")
