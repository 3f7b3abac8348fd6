"""Compares what berth reads from real files with what the libraries read that such files are made for.

    python tests/peers/check_files.py BERTH DATA

DATA is a folder of real data sets (see scripts/test-peers.sh). pandas reads the pickles, safetensors and PyTorch read the
weights: names, shapes and types of all tensors must agree, and so must the columns, the number of rows and the first cells of
all tables. The records of a TFRecord file are counted, and a TensorFlow checkpoint with optimizer slots is converted.
"""

import json
import pathlib
import struct
import subprocess
import sys
import tempfile

import pandas
import torch
from safetensors import safe_open

BERTH, DATA = sys.argv[1], pathlib.Path(sys.argv[2])
TORCH_TYPES = {torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16", torch.int64: "I64"}


def run(*flags):
    done = subprocess.run([BERTH, *map(str, flags)], capture_output=True, text=True)
    assert done.returncode == 0, (flags, done.stderr[-400:])
    return done.stdout


def inspect(path):
    return json.loads(run("--mode", "inspect", "--json", path))


def tensors_of(path):
    return {tensor["name"]: (tensor["dtype"], tuple(tensor["shape"])) for tensor in inspect(path)["tensors"]}


def same_cell(ours, theirs):
    if isinstance(ours, str):  # inspect shortens long texts
        return theirs.startswith(ours[:60])
    return abs(ours - theirs) < 1e-12


def check_pickle(path):
    ours, frame = inspect(path), pandas.read_pickle(path)
    assert ours["columns"] == [str(name) for name in frame.columns], ours["columns"]
    assert ours["rows"] == len(frame), (ours["rows"], len(frame))
    for row, theirs in zip(ours["first"], frame.itertuples(index=False)):
        assert all(map(same_cell, row, theirs)), (row, theirs)
    return f"{len(frame)} rows"


def check_safetensors(path):
    with safe_open(str(path), "np") as file:
        theirs = {name: (file.get_slice(name).get_dtype(), tuple(file.get_slice(name).get_shape())) for name in file.keys()}
    assert tensors_of(path) == theirs
    return f"{len(theirs)} tensors"


def check_torch(path):
    state = torch.load(path, map_location="cpu")
    theirs = {name: (TORCH_TYPES[tensor.dtype], tuple(tensor.shape)) for name, tensor in state.items()}
    assert tensors_of(path) == theirs
    return f"{len(theirs)} tensors"


def check_tfrecord(path):
    content, at, records = path.read_bytes(), 0, 0
    while at < len(content):
        at += 16 + struct.unpack_from("<Q", content, at)[0]
        records += 1
    assert inspect(path)["rows"] == records, records
    return f"{records} records"


def check_slots(folder):
    tensors = tensors_of(folder / "bert_model.ckpt")
    parameters = [name for name in tensors if not name.endswith(("/adam_m", "/adam_v")) and name != "global_step"]
    with tempfile.TemporaryDirectory() as out:
        run("--mode", "convert", "--model", folder, "--export-dir", out)
        converted = tensors_of(out)
    assert len(converted) == len(parameters), (len(converted), len(parameters))
    assert all(name.startswith(("bert.", "cls.")) for name in converted), sorted(converted)
    return f"{len(converted)} of {len(tensors)} tensors are parameters"


CHECKS = [
    ("ag_news/df.pickle", check_pickle),
    ("pickle/dm2018_train_df.pkl", check_pickle),
    ("pickle/dm2021_train_df.pkl", check_pickle),
    ("pickle/tender_df.pickle", check_pickle),
    ("weights/coldfire_tiny_bert/model.safetensors", check_safetensors),
    ("weights/fastnlp/small_bert/small_pytorch_model.bin", check_torch),
    ("weights/fastnlp/small_roberta/small_pytorch_model.bin", check_torch),
    ("weights/keras_bert_ckpt", check_slots),
    ("tfrecord/mrpc_bert_tiny/eval.tf_record", check_tfrecord),
    ("tfrecord/mrpc_bert_tiny/train.tf_record", check_tfrecord),
]

for name, check in CHECKS:
    if (DATA / name).exists():
        print(f"{name}: {check(DATA / name)}, as its own library reads it")
    else:
        print(f"SKIPPED: no {name}")
