"""Records what torch.save writes: tests/testdata/torch.tar.

    python tests/record/fixtures.py torch record_torch.py

state_dict.safetensors holds the tensors of the state dicts, contiguous. The files "*.bin" hold the same tensors as PyTorch saves them:
transposed, expanded, sliced, tied, and of each element type. Recorded with torch 1.13 and safetensors 0.8. zip_torch2.bin is zip.bin,
packed again with the records that torch 2.x adds (byteorder, .format_version and others), because torch 2 could not be installed.
"""

import collections
import os
import pathlib
import sys
import zipfile

import torch
from safetensors.torch import save_file


def state_dict():
    torch.manual_seed(5)
    weight = torch.randn(3, 4)
    flat = torch.arange(24, dtype=torch.float32)
    tensors = collections.OrderedDict()
    tensors["embeddings.weight"] = weight
    tensors["decoder.weight"] = weight  # tied: two names share one storage
    tensors["transposed"] = torch.randn(4, 3).t()
    tensors["permuted"] = flat.view(2, 3, 4).permute(2, 0, 1)
    tensors["expanded"] = torch.tensor([1.5, -2.0]).view(2, 1).expand(2, 5)
    tensors["position_ids"] = torch.arange(6).expand((1, -1))
    tensors["sliced"] = flat[5:17].view(3, 4)[:, 1:3]
    tensors["row"] = flat[8:12]
    tensors["parameter"] = torch.nn.Parameter(torch.randn(2, 2))
    tensors["scalar"] = torch.tensor(2.5)
    tensors["empty"] = torch.zeros(0, 4)
    for dtype in (torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8,
                  torch.uint8, torch.bool):
        tensors[str(dtype).removeprefix("torch.")] = torch.tensor([0, 1, 3]).to(dtype)
    return tensors


class Evil:
    def __reduce__(self):
        return os.system, ("exit 1",)


def pack_as_torch2(source, target):
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            new.writestr(name.replace("zip/", "model/"), old.read(name))
        for name, text in (("byteorder", "little"), (".format_version", "1"), (".storage_alignment", "64"),
                           (".data/serialization_id", "0" * 40)):
            new.writestr("model/" + name, text)


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    tensors = state_dict()
    save_file({name: tensor.detach().clone().contiguous() for name, tensor in tensors.items()},
              folder / "state_dict.safetensors")
    torch.save(tensors, folder / "zip.bin")
    torch.save(tensors, folder / "zip_protocol4.bin", pickle_protocol=4)
    torch.save(dict(tensors), folder / "legacy.bin", _use_new_zipfile_serialization=False)
    torch.save(tensors, folder / "legacy_protocol3.bin", _use_new_zipfile_serialization=False, pickle_protocol=3)
    torch.save({"epoch": 3, "arch": "bert", "best": 0.5, "state_dict": tensors, "args": ["--lr", None, True],
                "optimizer": {"state": {0: {"step": 7, "exp_avg": torch.ones(2)}}, "param_groups": [{"lr": 1e-3}]}},
               folder / "nested.bin")
    pack_as_torch2(folder / "zip.bin", folder / "zip_torch2.bin")
    module = torch.nn.LayerNorm(2)
    torch.save(module.state_dict(), folder / "module.bin")  # an OrderedDict with _metadata
    torch.save({"weight": torch.ones(2), "evil": Evil()}, folder / "os_system.bin")
    torch.save({"weight": torch.ones(2), "evil": Evil()}, folder / "os_system_legacy.bin",
               _use_new_zipfile_serialization=False)
    torch.save(module, folder / "whole_module.bin")
    torch.save({"weight": torch.ones(2, dtype=torch.complex64)}, folder / "complex.bin")
    torch.save({"weight": torch.ones(2, 3).to_sparse()}, folder / "sparse.bin")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
