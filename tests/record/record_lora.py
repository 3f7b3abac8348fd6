"""Records what PEFT computes with LoRA adapters on a small model with every kind of attention.

    python tests/record/fixtures.py lora record_lora.py [SEED [ARCHITECTURE ...]]

Writes ARCHITECTURE-TASK.safetensors with these tensors:
- "param.NAME": the model's parameters without adapters,
- "adapter.NAME": the tensors of PEFT's adapter_model.safetensors,
- "grad.NAME": their gradients,
- "logits", "loss", and the packed inputs and labels as in record_architectures.py.
The metadata holds "config" and "adapter_config". Files whose TASK ends in -all or -dense have adapters on all dense layers of each
encoder layer. They were recorded with torch 2.15, the others with torch 1.13; all with peft 0.10 and transformers 4.40,
except for ModernBERT, MPNet, NomicBERT and MegatronBERT: those with torch 2.15, peft 0.21 and transformers 5.24. NomicBERT's have the names of files.
"""

import json
import pathlib
import sys

import peft
import torch
from safetensors.torch import save_file

from record_architectures import CLASSES, EXAMPLES, as_in_files, make_inputs, make_model

# The dense layers of "-all": those that PEFT selects for all-linear, without those of the head.
ALL = {"bert": ["query", "key", "value", "attention.output.dense", "intermediate.dense", "output.dense"],
       "distilbert": ["q_lin", "k_lin", "v_lin", "out_lin", "lin1", "lin2"],
       "albert": ["query", "key", "value", "attention.dense", "ffn", "ffn_output"],
       "deberta-v2": ["query_proj", "key_proj", "value_proj", "attention.output.dense", "intermediate.dense", "output.dense"],
       "modernbert": ["Wqkv", "Wo", "Wi"],
       "mpnet": ["q", "k", "v", "o", "intermediate.dense", "output.dense"],
       "megatron-bert": ["query", "key", "value", "attention.output.dense", "intermediate.dense", "output.dense"],
       "nomic": ["o_proj", "gate_proj", "up_proj", "down_proj"]}  # berth has query, key and value as one matrix, and PEFT has not
TARGETS = {"distilbert": ["q_lin", "v_lin"], "deberta-v2": ["query_proj", "value_proj"], "modernbert": ["Wqkv"],
           "mpnet": ["q", "v"], "nomic": ["o_proj"]}
HEADS = {"bert": ["pooler", "classifier"], "roberta": ["classifier"], "distilbert": ["pre_classifier", "classifier"],
         "albert": ["pooler", "classifier"], "deberta-v2": ["pooler", "classifier"], "modernbert": ["head", "classifier"],
         "mpnet": ["classifier"], "nomic": ["pooler", "classifier"], "megatron-bert": ["pooler", "classifier"]}


def record(out, architecture, task, targets=None, suffix=""):
    model = make_model(architecture, task)
    parameters = {name: value.detach().clone().contiguous() for name, value in model.named_parameters()}
    recorded = {"param." + name: value for name, value in as_in_files(architecture, parameters).items()}
    token = task == "token"
    config = peft.LoraConfig(task_type="TOKEN_CLS" if token else "SEQ_CLS", r=3, lora_alpha=5, lora_dropout=0.0,
                             target_modules=targets or TARGETS.get(architecture, ["query", "value"]),
                             modules_to_save=["classifier"] if token else HEADS[architecture])
    model = peft.get_peft_model(model, config).train()
    for name, parameter in model.named_parameters():
        if "lora_B" in name:  # PEFT initializes it with zeros
            parameter.data = 0.3 * torch.randn_like(parameter)
    inputs, mask, _, packed = make_inputs(architecture, model.config)
    labels = torch.randint(0, CLASSES, mask.shape if token else (EXAMPLES,))
    if token:
        labels[~mask] = -100
    output = model(**inputs, labels=labels)
    output.loss.backward()
    recorded.update(packed)
    recorded["labels"] = (labels[mask] if token else labels).to(torch.int32)
    recorded["logits"] = (output.logits[mask] if token else output.logits).detach().clone()
    recorded["loss"] = output.loss.detach().reshape(1)
    # The names under which PEFT saves them.
    gradients = {name: parameter.grad for name, parameter in model.named_parameters() if parameter.grad is not None}
    for kind, state in (("adapter", None), ("grad", gradients)):
        for name, value in as_in_files(architecture, peft.get_peft_model_state_dict(model, state)).items():
            recorded[f"{kind}.{name}"] = value.detach().clone().contiguous()
    folder = out / "saved"
    model.save_pretrained(folder)
    adapter_config = json.loads((folder / "adapter_config.json").read_text())
    renamed = as_in_files(architecture, {name: None for name in adapter_config["target_modules"]})
    adapter_config["target_modules"] = [name.split(".")[-1] if architecture == "nomic" else name for name in renamed]
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    save_file(recorded, out / f"{architecture}-{task}{suffix}.safetensors",
              metadata={"config": json.dumps(model.config.to_dict(), sort_keys=True), "adapter_config": json.dumps(adapter_config)})
    print(architecture, task + suffix, output.loss.item())


out = pathlib.Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
only = sys.argv[3:]
for architecture in only or HEADS:
    record(out, architecture, "sequence")
for architecture, targets in ALL.items():
    if architecture in (only or ALL):
        record(out, architecture, "sequence", targets, "-all")
if not only:
    record(out, "bert", "token")
    record(out, "bert", "token", ["dense"], "-dense")
