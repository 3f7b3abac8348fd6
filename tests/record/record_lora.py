"""Records what PEFT computes with LoRA adapters on a small model of every kind of attention.

    python tests/record/record_lora.py tests/testdata/lora

Writes ARCHITECTURE-TASK.safetensors: the model's parameters without adapters as "param.NAME", PEFT's adapter_model.safetensors as
"adapter.NAME", the gradients of its tensors as "grad.NAME", "logits", "loss", the packed inputs and labels as
record_architectures.py has them, and in the metadata "config" and "adapter_config".
-all and -dense behind the task: with adapters of all dense layers of a layer. Recorded with peft 0.10, torch 1.13 and transformers 4.40;
those two with torch 2.15.
"""

import json
import pathlib
import sys

import peft
import torch
from safetensors.torch import save_file

from record_architectures import CLASSES, EXAMPLES, make_inputs, make_model

# What a name means in addition: the dense layers behind "-all" are what PEFT makes of all-linear without the head's.
ALL = {"bert": ["query", "key", "value", "attention.output.dense", "intermediate.dense", "output.dense"],
       "distilbert": ["q_lin", "k_lin", "v_lin", "out_lin", "lin1", "lin2"],
       "albert": ["query", "key", "value", "attention.dense", "ffn", "ffn_output"],
       "deberta-v2": ["query_proj", "key_proj", "value_proj", "attention.output.dense", "intermediate.dense", "output.dense"]}
TARGETS = {"distilbert": ["q_lin", "v_lin"], "deberta-v2": ["query_proj", "value_proj"]}
HEADS = {"bert": ["pooler", "classifier"], "roberta": ["classifier"], "distilbert": ["pre_classifier", "classifier"],
         "albert": ["pooler", "classifier"], "deberta-v2": ["pooler", "classifier"]}


def record(out, architecture, task, targets=None, suffix=""):
    model = make_model(architecture, task)
    recorded = {"param." + name: value.detach().clone().contiguous() for name, value in model.named_parameters()}
    token = task == "token"
    config = peft.LoraConfig(task_type="TOKEN_CLS" if token else "SEQ_CLS", r=3, lora_alpha=5, lora_dropout=0.0,
                             target_modules=targets or TARGETS.get(architecture, ["query", "value"]),
                             modules_to_save=["classifier"] if token else HEADS[architecture])
    model = peft.get_peft_model(model, config).train()
    for name, parameter in model.named_parameters():
        if "lora_B" in name:  # zeros at first
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
    # By PEFT's own renaming of what it saves.
    gradients = {name: parameter.grad for name, parameter in model.named_parameters() if parameter.grad is not None}
    for kind, state in (("adapter", None), ("grad", gradients)):
        for name, value in peft.get_peft_model_state_dict(model, state).items():
            recorded[f"{kind}.{name}"] = value.detach().clone().contiguous()
    folder = out / "saved"
    model.save_pretrained(folder)
    adapter_config = (folder / "adapter_config.json").read_text()
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    save_file(recorded, out / f"{architecture}-{task}{suffix}.safetensors",
              metadata={"config": json.dumps(model.config.to_dict(), sort_keys=True), "adapter_config": adapter_config})
    print(architecture, task + suffix, output.loss.item())


out = pathlib.Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
for architecture in HEADS:
    record(out, architecture, "sequence")
record(out, "bert", "token")
for architecture, targets in ALL.items():
    record(out, architecture, "sequence", targets, "-all")
record(out, "bert", "token", ["dense"], "-dense")
