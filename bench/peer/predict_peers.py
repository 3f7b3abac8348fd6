#!/usr/bin/env python3
"""Times the prediction of a table by ONNX Runtime and by PyTorch, beside which berth is measured.

    python3 predict_peers.py MODEL DATA.tsv --text-column text --threads 2 [--only NAME ...]

MODEL is a folder in Hugging Face layout with a classifier of texts. Each peer gets the rows sorted by length, in batches of equal
lengths where that is possible, padded to the longest of the batch. The time is that of tokenizing all rows and of all batches;
imports, loading, export and quantization are not part of it. Needs torch, transformers, onnx and onnxruntime.
"""
import argparse
import csv
import os
import tempfile
import time


def read_texts(path, column):
    csv.field_size_limit(1 << 30)
    delimiter = "\t" if path.endswith(".tsv") else ","
    with open(path, newline="") as file:
        quoting = csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL
        return [row[column] for row in csv.DictReader(file, delimiter=delimiter, quoting=quoting)]


def batches(tokenizer, texts, size, length):
    """The batches, longest first, with the rows that each holds."""
    ids = tokenizer(texts, truncation=True, max_length=length)["input_ids"]
    order = sorted(range(len(ids)), key=lambda i: -len(ids[i]))
    for begin in range(0, len(order), size):
        rows = order[begin : begin + size]
        longest = max(len(ids[i]) for i in rows)
        yield rows, [ids[i] + [tokenizer.pad_token_id] * (longest - len(ids[i])) for i in rows], [
            [1] * len(ids[i]) + [0] * (longest - len(ids[i])) for i in rows
        ]


def time_peer(name, run, tokenizer, texts, options):
    best, classes = None, None
    for _ in range(options.repeat):
        begin = time.perf_counter()
        found = [0] * len(texts)
        for rows, ids, mask in batches(tokenizer, texts, options.batch_size, options.max_seq_length):
            for row, value in zip(rows, run(ids, mask).argmax(-1)):
                found[row] = int(value)
        seconds = time.perf_counter() - begin
        best = seconds if best is None else min(best, seconds)
        classes = found
    print(f"{name}\t{best:.2f} s\t{len(texts) / best:.1f} rows/s", flush=True)
    return classes


def export(model, path):
    import torch

    class Logits(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, input_ids, attention_mask):
            return self.model(input_ids=input_ids, attention_mask=attention_mask).logits

    ids = torch.ones((2, 8), dtype=torch.int64)
    axes = {0: "batch", 1: "length"}
    torch.onnx.export(
        Logits(),
        (ids, ids),
        path,
        input_names=["input_ids", "attention_mask"],
        output_names=["logits"],
        dynamic_axes={"input_ids": axes, "attention_mask": axes, "logits": {0: "batch"}},
        opset_version=17,
        dynamo=False,
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("data")
    parser.add_argument("--text-column", default="text")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--max-seq-length", type=int, default=128)
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--only", nargs="*", default=[])
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(options.threads)

    import numpy
    import onnx
    import onnxruntime
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    torch.set_num_threads(options.threads)
    texts = read_texts(options.data, options.text_column)
    tokenizer = AutoTokenizer.from_pretrained(options.model)
    wanted = lambda name: not options.only or name in options.only

    for name, dtype in (("pytorch fp32", torch.float32), ("pytorch bf16", torch.bfloat16)):
        if not wanted(name):
            continue
        model = AutoModelForSequenceClassification.from_pretrained(
            options.model, dtype=dtype, attn_implementation="sdpa"
        ).eval()

        def run(ids, mask):
            with torch.inference_mode():
                ids, mask = torch.tensor(ids), torch.tensor(mask)
                return model(input_ids=ids, attention_mask=mask).logits.float().numpy()

        time_peer(name, run, tokenizer, texts, options)

    if not (wanted("onnxruntime fp32") or wanted("onnxruntime int8")):
        return
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.transformers import optimizer

    model = AutoModelForSequenceClassification.from_pretrained(options.model, attn_implementation="eager").eval()
    config = model.config
    with tempfile.TemporaryDirectory() as folder:
        plain, fused, int8 = (os.path.join(folder, f"{name}.onnx") for name in ("plain", "fused", "int8"))
        export(model, plain)
        optimized = optimizer.optimize_model(
            plain, model_type="bert", num_heads=config.num_attention_heads, hidden_size=config.hidden_size
        )
        optimized.save_model_to_file(fused)
        print("fused nodes:", optimized.get_fused_operator_statistics(), flush=True)
        quantize_dynamic(
            fused,
            int8,
            weight_type=QuantType.QInt8,
            per_channel=True,
            extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT},
        )
        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = options.threads
        for name, path in (("onnxruntime fp32", fused), ("onnxruntime int8", int8)):
            if not wanted(name):
                continue
            session = onnxruntime.InferenceSession(path, settings, providers=["CPUExecutionProvider"])

            def run(ids, mask):
                feed = {"input_ids": numpy.array(ids), "attention_mask": numpy.array(mask)}
                return session.run(None, feed)[0]

            time_peer(name, run, tokenizer, texts, options)


main()
