"""Measures training steps of transformers' BERT-base in PyTorch's DistributedDataParallel, with Gloo, as one of several processes.

    RANK=R WORLD_SIZE=N MASTER_ADDR=HOST MASTER_PORT=29501 python bench/peer/step_ddp.py THREADS fp32|bf16 BATCH LENGTH [--bf16-gradients]

BATCH is that of all processes. LENGTH is a number of tokens, or "news" for the lengths of AG News as step_bench has them; texts
are padded to the longest one of the process. bf16 uses torch.autocast. --bf16-gradients lets gradients travel in bf16
(bf16_compress_hook). Process 0 prints the median of the updates, and how much longer it is than without communication (no_sync).
"""

import argparse
import contextlib
import pathlib
import re
import statistics
import time

import torch
import torch.distributed
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import bf16_compress_hook
from transformers import BertConfig, BertForSequenceClassification

parser = argparse.ArgumentParser()
parser.add_argument("threads", type=int)
parser.add_argument("precision", choices=("fp32", "bf16"))
parser.add_argument("batch", type=int)
parser.add_argument("length")
parser.add_argument("--bf16-gradients", action="store_true")
options = parser.parse_args()
torch.set_num_threads(options.threads)
torch.manual_seed(1)
torch.distributed.init_process_group("gloo")
rank, size = torch.distributed.get_rank(), torch.distributed.get_world_size()

source = (pathlib.Path(__file__).parents[2] / "trainer/model/benchmark_step.cpp").read_text()
news = [int(n) for n in re.search(r"kNewsLengths = \{([^}]*)\}", source).group(1).split(",")]
lengths = [news[b * 37 % 64] if options.length == "news" else int(options.length) for b in range(options.batch)][rank::size]
ids = torch.randint(1, 30522, (len(lengths), max(lengths)))
mask = torch.tensor([[int(i < length) for i in range(max(lengths))] for length in lengths])
labels = torch.arange(len(lengths)) % 2
model = torch.nn.parallel.DistributedDataParallel(BertForSequenceClassification(BertConfig(num_labels=2)).train())
if options.bf16_gradients:
    model.register_comm_hook(None, bf16_compress_hook)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, weight_decay=0.01)


def step(communicates):
    torch.distributed.barrier()
    start = time.perf_counter()
    with contextlib.nullcontext() if communicates else model.no_sync():
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=options.precision == "bf16"):
            loss = model(input_ids=ids, attention_mask=mask, labels=labels).loss
        loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    loss.item()
    torch.distributed.barrier()
    return time.perf_counter() - start


for _ in range(2):
    step(True)
together, apart = [], []
for _ in range(3):
    together.append(step(True))
    apart.append(step(False))
if rank == 0:
    seconds, alone = statistics.median(together), statistics.median(apart)
    print(f"{size} x {options.threads} threads, {options.batch} x {options.length}: {seconds:.2f} s an update, "
          f"{options.batch / seconds:.2f} examples/s, {seconds - alone:+.2f} s by communication, "
          f"torch {torch.__version__} {options.precision}{' bf16 gradients' if options.bf16_gradients else ''}")
