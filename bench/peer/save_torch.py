"""Saves the tensors of FOLDER/model.safetensors in PyTorch's formats, for load_bench.

    python bench/peer/save_torch.py FOLDER

Writes pytorch_model.bin (zip), legacy.bin (the format before PyTorch 1.6) and shards of safetensors with their index into FOLDER. Prints
how long PyTorch and safetensors take to load them.
"""

import json
import pathlib
import sys
import time

import torch
from safetensors.torch import load_file, save_file


def timed(name, work):
    seconds = []
    for _ in range(5):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    print(f"{name:28} {sorted(seconds)[2] * 1e3:9.1f} ms")


def main(folder):
    tensors = load_file(folder / "model.safetensors")
    torch.save(tensors, folder / "pytorch_model.bin")
    torch.save(tensors, folder / "legacy.bin", _use_new_zipfile_serialization=False)
    names = list(tensors)
    weight_map = {}
    for shard in range(4):
        file = f"model-{shard + 1:05}-of-00004.safetensors"
        part = {name: tensors[name] for name in names[shard::4]}
        save_file(part, folder / file, metadata={"format": "pt"})
        weight_map |= {name: file for name in part}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))

    def copied(loaded):  # a model's parameters have their own memory
        return {name: tensor.clone() for name, tensor in loaded.items()}

    timed("safetensors, cloned", lambda: copied(load_file(folder / "model.safetensors")))
    for name in ("pytorch_model.bin", "legacy.bin"):
        timed(f"torch.load {name}", lambda: torch.load(folder / name))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
