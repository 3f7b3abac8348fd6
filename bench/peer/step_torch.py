"""Measures training steps of transformers' BERT in PyTorch. It is the counterpart of bench/step_bench.cpp.

    python bench/peer/step_torch.py THREADS fp32|bf16 MODEL BATCH LENGTH [--pad-to N] [--compile] [--group-by-length] [--lengths FILE]
    python bench/peer/step_torch.py --serve [--lengths FILE]

MODEL and LENGTH are those of step_bench: "base-mlm" trains BertForMaskedLM as run_mlm.py does, with labels for 15 % of the tokens,
and "news", "drawn" or "documents" are the same lengths. "drawn" takes 16 batches in turn, and the rate is their mean. With --group-by-length
they are every third one of the batches that transformers' LengthGroupedSampler makes of 50 batches' texts. Texts are padded to the longest of the batch, or to --pad-to. bf16 uses torch.autocast.
--compile uses torch.compile. Attention is sdpa where this version of transformers has it. A GPU is used if there is one, with AdamW's
fused kernel; no step waits there for the one before it. Prints examples/s and the peak memory.

--serve reads shapes from standard input, one JSON object a line, and answers each with two: {"ready": ...} after the first steps, and
after another line of input {"examples_per_second": ...}. So a caller can let programs compile at the same time and measure in turns.
--lengths names a file with the numbers for "news", one a line; otherwise they are read from berth's sources.
"""

import argparse
import gc
import json
import pathlib
import re
import resource
import statistics
import sys
import time

import torch
from transformers import AutoModelForMaskedLM, AutoModelForSequenceClassification, BertConfig

SIZES = {"tiny": (2, 128, 2), "mini-lm": (6, 384, 12), "base": (12, 768, 12), "large": (24, 1024, 16)}
parser = argparse.ArgumentParser()
parser.add_argument("threads", type=int, nargs="?")
parser.add_argument("precision", choices=("fp32", "bf16"), nargs="?")
parser.add_argument("model", nargs="?")
parser.add_argument("batch", type=int, nargs="?")
parser.add_argument("length", nargs="?")
parser.add_argument("--pad-to", type=int, default=0)
parser.add_argument("--compile", action="store_true")
parser.add_argument("--group-by-length", action="store_true")
parser.add_argument("--lengths", type=pathlib.Path)
parser.add_argument("--serve", action="store_true")
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
is_gpu = device.type == "cuda"


def listed(name, file):
    if file is not None and name == "kNewsLengths":
        return [int(line) for line in file.read_text().split()]
    source = (pathlib.Path(__file__).parents[2] / "trainer/model/benchmark_step.cpp").read_text()
    return [int(number) for number in re.search(name + r" = \{([^}]*)\}", source).group(1).split(",")]


def drawn(number, b):
    """Which of 64 lengths step_bench draws for a text of a batch."""
    x = number * 1000003 + b + 1
    for _ in range(2):
        x = (x * 6364136223846793005 + 1442695040888963407) % 2**64
    return x >> 58


def lengths_of(shape, file):
    """The lengths of the texts of each batch."""
    if shape.length == "drawn":
        news = listed("kNewsLengths", file)
        batches = [[news[drawn(number, b)] for b in range(shape.batch)] for number in range(50 if shape.group_by_length else 16)]
        if not shape.group_by_length:
            return batches
        texts = sorted((length for batch in batches for length in batch), reverse=True)
        return [texts[begin:begin + shape.batch] for begin in range(0, len(texts), shape.batch)][::3]
    if shape.length == "news":
        return [[listed("kNewsLengths", file)[b * 37 % 64] for b in range(shape.batch)]]
    if shape.length == "documents":
        return [[listed("kDocumentLengths", file)[b * 13 % 32] for b in range(shape.batch)]]
    return [[int(shape.length)] * shape.batch]


class Training:
    """A model on batches of random tokens, which stay on the device."""

    def __init__(self, shape, file):
        torch.manual_seed(1)
        self.precision, self.batch = shape.precision, shape.batch
        size = shape.model.removesuffix("-mlm")
        layers, hidden, heads = SIZES[size]
        config = BertConfig(num_hidden_layers=layers, hidden_size=hidden, num_attention_heads=heads, intermediate_size=4 * hidden,
                            num_labels=2)
        of_task = AutoModelForSequenceClassification if size == shape.model else AutoModelForMaskedLM
        self.attention = "sdpa"
        try:
            self.model = of_task.from_config(config, attn_implementation="sdpa")
        except (ImportError, ValueError):  # older versions have no sdpa for BERT
            self.model, self.attention = of_task.from_config(config), "eager"
        self.model.to(device).train()
        self.inputs, self.step, self.width = [], 0, 0
        for lengths in lengths_of(shape, file):
            width = max(shape.pad_to, *lengths, 0)
            ids = torch.randint(1, 30522, (shape.batch, width))
            mask = torch.tensor([[int(i < length) for i in range(width)] for length in lengths])
            labels = torch.arange(shape.batch) % 2
            if size != shape.model:
                labels = torch.where((torch.arange(ids.numel()).view_as(ids) % 20 % 7 == 0) & (mask == 1), ids, -100)
            self.inputs.append({"input_ids": ids.to(device), "attention_mask": mask.to(device), "labels": labels.to(device)})
            self.width = max(self.width, width)
        plain = [p for n, p in self.model.named_parameters() if n.endswith("bias") or "LayerNorm" in n]
        decayed = [p for n, p in self.model.named_parameters() if not (n.endswith("bias") or "LayerNorm" in n)]
        self.optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": 0.01}, {"params": plain, "weight_decay": 0.0}],
                                           lr=1e-5, **({"fused": True} if is_gpu else {}))
        self.run = torch.compile(self.model, dynamic=True if len(self.inputs) > 1 else None) if shape.compile else self.model

    def steps(self, count):
        """The seconds that so many steps take."""
        start = time.perf_counter()
        for _ in range(count):
            with torch.autocast(device.type, dtype=torch.bfloat16, enabled=self.precision == "bf16"):
                loss = self.run(**self.inputs[self.step % len(self.inputs)]).loss
            self.step += 1
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
            self.optimizer.zero_grad()
        loss.item()  # waits for the GPU
        return time.perf_counter() - start

    def measure(self, least_s=5.0):
        """The seconds of a step, by windows of a quarter of a second, one step, or all batches."""
        one = self.steps(3) / 3
        window = max(1, round(0.25 / one)) if is_gpu else 1
        if len(self.inputs) > 1:
            window = len(self.inputs) * max(1, round(window / len(self.inputs)))
        seconds = []
        while len(seconds) * window < 3 or sum(seconds) * window < least_s:
            seconds.append(self.steps(window) / window)
        return seconds


def peak_bytes():
    return torch.cuda.max_memory_allocated() if is_gpu else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def answer(**values):
    print(json.dumps(values), flush=True)


def serve(file):
    for line in sys.stdin:
        shape = argparse.Namespace(**{"pad_to": 0, "compile": False, "group_by_length": False, **json.loads(line)})
        training = None
        try:
            if is_gpu:
                torch.cuda.reset_peak_memory_stats()
            start = time.perf_counter()
            training = Training(shape, file)
            training.steps(2)
            answer(ready=True, prepare_s=time.perf_counter() - start, attention=training.attention, padded_to=training.width,
                   device=torch.cuda.get_device_name() if is_gpu else "cpu", version=torch.__version__)
            if not sys.stdin.readline():
                return
            seconds = training.measure()
            rates = [shape.batch / s for s in seconds]
            answer(examples_per_second=statistics.median(rates), lowest=min(rates), highest=max(rates), memory_bytes=peak_bytes())
        except Exception as error:  # the caller asks for the next shape
            answer(error=f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}")
        del training
        gc.collect()
        torch.compiler.reset()
        if is_gpu:
            torch.cuda.empty_cache()


options = parser.parse_args()
if options.serve:
    serve(options.lengths)
    sys.exit()
if options.length is None:
    parser.error("THREADS, a precision, MODEL, BATCH and LENGTH are needed")
torch.set_num_threads(options.threads)
training = Training(options, options.lengths)
training.steps(2)
seconds = training.measure()
print(f"{options.model} {options.batch} x {options.length} padded to {training.width}: "
      f"{options.batch / statistics.median(seconds):.2f} examples/s  {peak_bytes() / 2**30:.2f} GiB  "
      f"torch {torch.__version__} {options.precision}, {training.attention}")
