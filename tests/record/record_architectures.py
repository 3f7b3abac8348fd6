"""Records what PyTorch and transformers compute for a small model of every architecture and head.

    python tests/record/record_architectures.py tests/testdata/architectures [SEED]

Writes ARCHITECTURE-TASK.safetensors: parameters as "param.NAME", the gradients of the mean loss as "grad.NAME", "logits",
the packed inputs "input_ids", "token_type_ids", "lengths", the "labels" (a class a sequence; a class or -100 a token; an id or
-100 a token), and in the metadata "config", the model's config.json.
Recorded with torch 1.13 and transformers 4.40.
"""

import json
import pathlib
import sys

import torch
import transformers
from safetensors.torch import save_file

EXAMPLES, CLASSES, VOCABULARY = 5, 3, 23
SIZES = dict(vocab_size=VOCABULARY, hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=12,
             max_position_embeddings=16, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
             initializer_range=0.3, num_labels=CLASSES)
ARCHITECTURES = {
    "bert": ("Bert", SIZES),
    "roberta": ("Roberta", {**SIZES, "type_vocab_size": 1, "layer_norm_eps": 1e-5}),
    "xlm-roberta": ("XLMRoberta", {**SIZES, "type_vocab_size": 1, "layer_norm_eps": 1e-5, "pad_token_id": 1}),
    "distilbert": ("DistilBert", dict(vocab_size=VOCABULARY, dim=8, n_layers=2, n_heads=2, hidden_dim=12, dropout=0.0,
                                      attention_dropout=0.0, seq_classif_dropout=0.0, max_position_embeddings=16,
                                      initializer_range=0.3, num_labels=CLASSES)),
    "electra": ("Electra", {**SIZES, "embedding_size": 4, "hidden_act": "relu"}),
    "albert": ("Albert", {**SIZES, "embedding_size": 4, "num_hidden_layers": 3, "num_hidden_groups": 2,
                          "classifier_dropout_prob": 0.0, "pad_token_id": 0, "hidden_act": "gelu_new"}),
    "deberta-v2": ("DebertaV2", {**SIZES, "max_position_embeddings": 16, "type_vocab_size": 0, "relative_attention": True,
                                 "position_buckets": 4, "max_relative_positions": -1, "pos_att_type": ["p2c", "c2p"],
                                 "share_att_key": True, "norm_rel_ebd": "layer_norm", "position_biased_input": False,
                                 "pooler_dropout": 0.0, "pooler_hidden_act": "gelu", "layer_norm_eps": 1e-7}),
    # What no published model has: positions and token types besides, distances that are not bucketed.
    "deberta-v2-biased": ("DebertaV2", {**SIZES, "type_vocab_size": 2, "relative_attention": True, "position_buckets": -1,
                                        "max_relative_positions": 6, "pos_att_type": "c2p|p2c", "share_att_key": True,
                                        "position_biased_input": True}),
    # DeBERTa-v2-xlarge's convolution beside its first layer.
    "deberta-v2-convolved": ("DebertaV2", {**SIZES, "type_vocab_size": 0, "relative_attention": True, "position_buckets": 4,
                                           "max_relative_positions": -1, "pos_att_type": "p2c|c2p", "share_att_key": True,
                                           "norm_rel_ebd": "layer_norm", "position_biased_input": False,
                                           "pooler_dropout": 0.0, "pooler_hidden_act": "gelu", "layer_norm_eps": 1e-7,
                                           "conv_kernel_size": 3, "conv_act": "gelu"}),
}
TASKS = {"sequence": "ForSequenceClassification", "token": "ForTokenClassification", "masked": "ForMaskedLM"}


def record(out, architecture, task):
    torch.manual_seed(SEED)
    prefix, arguments = ARCHITECTURES[architecture]
    config = getattr(transformers, prefix + "Config")(**arguments)
    model = getattr(transformers, prefix + TASKS[task])(config).train()
    for parameter in model.parameters():  # biases and LayerNorm away from 0 and 1
        parameter.data += 0.05 * torch.randn_like(parameter)
    recorded = {"param." + name: value.detach().clone().contiguous() for name, value in model.named_parameters()}

    # RoBERTa's padding id stands in the first text, too: it has a place of its own.
    pad = config.pad_token_id
    lengths = torch.tensor([1, 9, 4, 13, 6])
    width = int(lengths.max())
    mask = torch.arange(width)[None, :] < lengths[:, None]
    ids = torch.randint(2, VOCABULARY, (EXAMPLES, width)) * mask + pad * ~mask
    ids[1, 3] = pad
    types = torch.randint(0, 2, (EXAMPLES, width)) * mask if getattr(config, "type_vocab_size", 1) > 1 else torch.zeros_like(ids)
    if task == "sequence":
        labels = torch.randint(0, CLASSES, (EXAMPLES,))
    else:
        labels = torch.randint(0, CLASSES if task == "token" else VOCABULARY, (EXAMPLES, width))
        labels[~mask | (torch.rand(EXAMPLES, width) < 0.4)] = -100
    inputs = {"input_ids": ids, "attention_mask": mask.long(), "labels": labels}
    if architecture != "distilbert":
        inputs["token_type_ids"] = types
    output = model(**inputs)
    output.loss.backward()

    flat = mask.flatten()
    per_token = task != "sequence"
    recorded["logits"] = (output.logits.flatten(0, 1)[flat] if per_token else output.logits).detach().clone()
    recorded["labels"] = (labels.flatten()[flat] if per_token else labels).to(torch.int32)
    recorded["input_ids"] = ids.flatten()[flat].to(torch.int32)
    recorded["token_type_ids"] = types.flatten()[flat].to(torch.int32)
    recorded["lengths"] = lengths.to(torch.int32)
    recorded["loss"] = output.loss.detach().reshape(1)
    for name, parameter in model.named_parameters():
        if parameter.grad is not None:  # DistilBERT's positions would be sinusoids otherwise
            recorded["grad." + name] = parameter.grad.detach().clone()
    save_file(recorded, out / f"{architecture}-{task}.safetensors",
              metadata={"config": json.dumps(config.to_dict(), sort_keys=True)})
    print(architecture, task, output.loss.item())


out, SEED = pathlib.Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 7
out.mkdir(parents=True, exist_ok=True)
for architecture in ARCHITECTURES:
    for task in TASKS:
        if architecture not in ("xlm-roberta", "deberta-v2-biased", "deberta-v2-convolved") or task == "sequence":  # nearly as the one before
            record(out, architecture, task)
