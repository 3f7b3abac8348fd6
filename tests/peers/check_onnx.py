#!/usr/bin/env python3
"""Runs the ONNX models that berth writes with ONNX Runtime.

    python tests/peers/check_onnx.py BERTH

- For every architecture and head of tests/testdata, `berth --mode convert --export-format onnx` writes a model from the recorded
  parameters. onnx.checker accepts it, its inputs and outputs have the names that Hugging Face Optimum expects, and ONNX Runtime
  computes the logits that PyTorch computed (to 1e-4): for the padded batch, for each sequence alone, and for a batch with more
  padding and other ids in it. Models of 16-bit numbers differ by what their rounding changes.
- Folders of sentence-transformers become models whose sentence_embedding is what `berth --mode embed` writes.
- Short jobs of every kind of task, LoRA included, export a model with --export-format onnx. ONNX Runtime gives the probabilities
  of `berth --mode predict`.
Needs onnx, onnxruntime, numpy, and sympy for onnxruntime's optimizer.
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnxruntime.transformers import optimizer

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "record"))
import fixtures

RECORDED, EXAMPLES = ROOT / "tests" / "testdata", ROOT / "examples"
TOLERANCE = 1e-4
SUFFIXES = {"sequence": "ForSequenceClassification", "score": "ForSequenceClassification", "sets": "ForSequenceClassification",
            "token": "ForTokenClassification", "masked": "ForMaskedLM", "qa": "ForQuestionAnswering", "choice": "ForMultipleChoice"}
PREFIXES = {"bert": "Bert", "roberta": "Roberta", "xlm-roberta": "XLMRoberta", "distilbert": "DistilBert", "electra": "Electra",
            "albert": "Albert", "deberta-v2": "DebertaV2", "modernbert": "ModernBert", "mpnet": "MPNet",
            "nomic_bert": "NomicBert", "data2vec-text": "Data2VecText", "roformer": "RoFormer", "megatron-bert": "MegatronBert",
            "roberta-prelayernorm": "RobertaPreLayerNorm", "xlm-roberta-xl": "XLMRobertaXL",
            "ernie": "Ernie"}
# The largest difference that is expected of models whose numbers have 16 bits, relative to the largest logit.
ROUNDED = {"float16": 0.01, "bfloat16": 0.08}


def read_safetensors(path):
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + size])
    metadata = header.pop("__metadata__", {})
    types = {"F32": "<f4", "I32": "<i4", "I64": "<i8"}
    tensors = {}
    for name, entry in header.items():
        first, end = entry["data_offsets"]
        tensors[name] = np.frombuffer(data[8 + size + first:8 + size + end], types[entry["dtype"]]).reshape(entry["shape"])
    return metadata, tensors


def write_safetensors(path, tensors):
    header, offset = {}, 0
    for name, value in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(value.shape), "data_offsets": [offset, offset + value.nbytes]}
        offset += value.nbytes
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(value.tobytes() for value in tensors.values()))


def write_model(folder, config, architecture, parameters):
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config | {"architectures": [architecture]}))
    write_safetensors(folder / "model.safetensors", parameters)


def berth(*arguments):
    done = subprocess.run([BERTH, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        raise SystemExit(f"berth {' '.join(map(str, arguments))}\n{done.stderr.decode()}")
    return done.stdout.decode()


def session_of(folder):
    path = str(folder / "model.onnx")
    onnx.checker.check_model(path, full_check=True)
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])


def padded(sequences, width, fill):
    rows = np.full((len(sequences), width), fill, np.int64)
    for row, sequence in zip(rows, sequences):
        row[:len(sequence)] = sequence
    return rows


def run(session, ids, types, pad, width, other_ids=False, choices=0):
    """The outputs for a padded batch, one array of the last axis for each real token, or for each sequence. `choices` neighbouring
    sequences are a row of multiple choice."""
    mask = padded([np.ones(len(sequence)) for sequence in ids], width, 0)
    inputs = {"input_ids": padded(ids, width, pad), "attention_mask": mask, "token_type_ids": padded(types, width, 0)}
    if other_ids:
        inputs["input_ids"] = np.where(mask == 1, inputs["input_ids"], 5)
    if choices:
        inputs = {name: value.reshape(-1, choices, width) for name, value in inputs.items()}
    names = [each.name for each in session.get_inputs()]
    outputs = session.run(None, {name: inputs[name] for name in names})
    if len(outputs) == 2:  # the starts and ends of answers
        outputs = [np.stack(outputs, axis=-1)]
    (values,) = outputs
    per_token = values.ndim == 3 or session.get_outputs()[0].shape[1:] == ["sequence_length"]
    return values[mask == 1] if per_token else values


class Check:
    def __init__(self):
        self.failures = 0

    def expect(self, holds, what):
        print(("ok      " if holds else "FAILED  ") + what, flush=True)
        self.failures += not holds


def check_recorded(check, scratch, what, config, architecture, parameters, tensors, logits):
    folder = scratch / what
    write_model(folder, config, architecture, parameters)
    ends = np.cumsum(tensors["lengths"])[:-1]
    ids, types = np.split(tensors["input_ids"], ends), np.split(tensors["token_type_ids"], ends)
    pad, width = config.get("pad_token_id", 0), max(map(len, ids))
    choices = int(tensors["choices"][0]) if "choices" in tensors else 0
    for dtype in ("float32", "float16", "bfloat16"):
        out = scratch / f"{what}-{dtype}"
        berth("--mode", "convert", "--model", folder, "--export-dir", out, "--export-format", "onnx", "--export-dtype", dtype)
        session = session_of(out)
        tolerance = TOLERANCE if dtype == "float32" else ROUNDED[dtype] * float(np.abs(logits).max())
        batch = run(session, ids, types, pad, width, choices=choices)
        check.expect(batch.shape == logits.shape and np.abs(batch - logits).max() < tolerance,
                     f"{what}, {dtype}: {logits.shape} logits differ by {np.abs(batch - logits).max():.1e}")
        if dtype != "float32":
            continue
        with_types = config["model_type"] in ("bert", "electra", "albert") or config.get("type_vocab_size") == 2
        names = ["input_ids", "attention_mask"] + ["token_type_ids"] * with_types
        shape = ["batch_size", "num_choices", "sequence_length"] if choices else ["batch_size", "sequence_length"]
        check.expect([each.name for each in session.get_inputs()] == names and
                     all(each.type == "tensor(int64)" and each.shape == shape
                         for each in session.get_inputs()), f"{what}: the inputs are {names}")
        outputs = {"ForQuestionAnswering": ["start_logits", "end_logits"], "Model": ["last_hidden_state"]}
        names = next((names for suffix, names in outputs.items() if architecture.endswith(suffix)), ["logits"])
        check.expect([each.name for each in session.get_outputs()] == names, f"{what}: the outputs are {names}")
        size = max(1, choices)
        alone = [run(session, ids[i:i + size], types[i:i + size], pad, max(map(len, ids[i:i + size])), choices=choices)
                 for i in range(0, len(ids), size)]
        check.expect(np.abs(np.concatenate(alone) - logits).max() < TOLERANCE, f"{what}: so it is for each sequence alone")
        counts_from_padding = "roberta" in config["model_type"] or config["model_type"] in ("mpnet", "data2vec-text")
        wider = run(session, ids, types, pad, 16, other_ids=not counts_from_padding, choices=choices)
        check.expect(np.abs(wider - logits).max() < TOLERANCE, f"{what}: and with more padding, in which there are other ids")
    if config["model_type"] in ("bert", "roberta", "xlm-roberta", "electra", "albert"):
        fused = optimizer.optimize_model(str(scratch / f"{what}-float32" / "model.onnx"), "bert", config["num_attention_heads"],
                                         config["hidden_size"], opt_level=0)
        count = fused.get_fused_operator_statistics()
        check.expect(count["Attention"] == config["num_hidden_layers"] and
                     count["SkipLayerNormalization"] == 2 * config["num_hidden_layers"],
                     f"{what}: the optimizer makes one operation of attention, {count['Attention']} times")
    size = sum(value.nbytes for value in parameters.values())
    written = (scratch / f"{what}-float32" / "model.onnx").stat().st_size
    check.expect(written < size + 60_000, f"{what}: {written} bytes for {size} bytes of parameters")


def check_architectures(check, scratch):
    fixtures.unpack(RECORDED / "architectures.tar", scratch / "recorded")
    for path in sorted((scratch / "recorded").iterdir()):
        metadata, tensors = read_safetensors(path)
        config = json.loads(metadata["config"])
        task = path.stem.rsplit("-", 1)[1]
        parameters = {name[6:]: value for name, value in tensors.items() if name.startswith("param.")}
        check_recorded(check, scratch, path.stem, config, PREFIXES[config["model_type"]] + SUFFIXES[task], parameters, tensors,
                       tensors["logits"])


def check_encoder(check, scratch):
    metadata, tensors = read_safetensors(RECORDED / "hidden_states" / "bert.safetensors")
    parameters = {name[8:]: value for name, value in tensors.items() if name.startswith("teacher.")}
    check_recorded(check, scratch, "bert-encoder", json.loads(metadata["teacher_config"]), "BertModel", parameters, tensors,
                   tensors["states"])


def check_embeddings(check, scratch):
    """The output sentence_embedding of a folder of sentence-transformers, beside `berth --mode embed`."""
    texts = [line[:200] for path in sorted((EXAMPLES / "topics").glob("*.txt")) for line in path.read_text().split("\n")[:4]]
    file = scratch / "to_embed.jsonl"
    file.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    for pooling, normalizes in (("mean", True), ("cls", False), ("max", True)):
        folder, out = scratch / f"embedder-{pooling}", scratch / f"embedder-{pooling}-onnx"
        shutil.copytree(RECORDED / "tiny_model", folder)
        modules = ["Transformer", "Pooling"] + ["Normalize"] * normalizes
        paths = ["", "1_Pooling", "2_Normalize"]
        (folder / "modules.json").write_text(json.dumps(
            [{"idx": i, "name": str(i), "path": paths[i], "type": "sentence_transformers.models." + kind} for i, kind in enumerate(modules)]))
        (folder / "1_Pooling").mkdir()
        (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_" + {"cls": "cls_token"}.get(pooling, pooling + (
            "_tokens")): True}))
        berth("--mode", "convert", "--model", folder, "--export-dir", out, "--export-format", "onnx")
        session = session_of(out)
        lines = berth("--mode", "tokenize", "--model", folder, "--input", file).split("\n")[:-1]
        ids = [np.array(json.loads(line)["ids"]) for line in lines]
        width = max(map(len, ids))
        values = {"input_ids": padded(ids, width, 0), "attention_mask": padded([np.ones(len(one)) for one in ids], width, 0),
                  "token_type_ids": np.zeros((len(ids), width), np.int64)}
        (ours,) = session.run(["sentence_embedding"], {each.name: values[each.name] for each in session.get_inputs()})
        rows = berth("--mode", "embed", "--predict-data-file", file, "--model", folder, "--embeddings-format", "jsonl").split("\n")[:-1]
        theirs = np.array([json.loads(row)["embedding"] for row in rows])
        check.expect([each.name for each in session.get_outputs()] == ["last_hidden_state", "sentence_embedding"] and
                     ours.shape == theirs.shape and np.abs(ours - theirs).max() < TOLERANCE,
                     f"embeddings, {pooling}: {ours.shape} differ by {np.abs(ours - theirs).max():.1e}")


def check_discriminator(check, scratch):
    """Compares the discriminator's logits with its head, computed here from the encoder's hidden states."""
    metadata, tensors = read_safetensors(RECORDED / "replaced_tokens" / "electra.safetensors")
    config = json.loads(metadata["config"])
    parameters = {name[6:]: value for name, value in tensors.items()
                  if name.startswith("param.") and not name.startswith("param.generator")}
    sequences = [np.array([3, 7, 1, 9, 2]), np.array([4, 8]), np.array([5, 6, 11, 12, 13, 2, 1])]
    types = [np.zeros(len(one), int) for one in sequences]
    for name, architecture in ("encoder", "ElectraModel"), ("discriminator", "ElectraForPreTraining"):
        write_model(scratch / name, config, architecture, parameters)
        berth("--mode", "convert", "--model", scratch / name, "--export-dir", scratch / f"{name}-onnx", "--export-format", "onnx")
    hidden = run(session_of(scratch / "encoder-onnx"), sequences, types, 0, 7)
    head = lambda part, x: x @ parameters[part + ".weight"].T + parameters[part + ".bias"]  # noqa: E731
    dense = head("discriminator_predictions.dense", hidden)
    erf = np.vectorize(__import__("math").erf)
    logits = head("discriminator_predictions.dense_prediction", dense * (1 + erf(dense / 2 ** 0.5)) / 2)[:, 0]
    ours = run(session_of(scratch / "discriminator-onnx"), sequences, types, 0, 7)
    check.expect(ours.shape == logits.shape and np.abs(ours - logits).max() < TOLERANCE,
                 f"the discriminator: logits {logits.shape} differ by {np.abs(ours - logits).max():.1e}")


def check_job(check, scratch):
    """A job's model.onnx gives what berth predicts with its model.safetensors, with adapters merged or without."""
    texts = [line[:200] for path in sorted((EXAMPLES / "topics").glob("*.txt")) for line in path.read_text().split("\n")[:4]]
    file = scratch / "texts.jsonl"
    file.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    for name, flags in ("whole", ()), ("lora", ("--lora-rank", 2)):
        job = scratch / f"job-{name}"
        berth("--train-data-file", EXAMPLES / "data" / "df.pickle", "--model", RECORDED / "tiny_model", "--job-dir", job,
              "--max-steps", 20, "--batch-size", 16, "--learning-rate", 2e-3, "--export-format", "onnx", *flags)
        model = job / "model"
        lines = berth("--mode", "tokenize", "--model", model, "--input", file).split("\n")[:-1]
        ids = [np.array(json.loads(line)["ids"]) for line in lines]
        logits = run(session_of(model), ids, [np.zeros(len(one), int) for one in ids], 0, max(map(len, ids)))
        powers = np.exp(logits - logits.max(1, keepdims=True))
        out = berth("--mode", "predict", "--predict-data-file", file, "--model", model, "--precision", "fp32")
        theirs = np.array([[float(value) for value in line.split("\t")[2:]] for line in out.split("\n")[1:-1]])
        worst = np.abs(powers / powers.sum(1, keepdims=True) - theirs).max()
        check.expect(worst < TOLERANCE and theirs.std(0).max() > 100 * TOLERANCE,
                     f"a {name} job: probabilities of {len(texts)} texts differ by {worst:.1e}, texts by {theirs.std(0).max():.1e}")


def main():
    check = Check()
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        for part in check_architectures, check_encoder, check_embeddings, check_discriminator, check_job:
            part(check, scratch)
    if check.failures:
        raise SystemExit(f"{check.failures} failures")
    print("ONNX Runtime agrees")


if __name__ == "__main__":
    BERTH = pathlib.Path(sys.argv[1]).resolve()
    main()
