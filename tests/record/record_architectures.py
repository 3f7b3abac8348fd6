"""Records what PyTorch and transformers compute for a small model of every architecture and head.

    python tests/record/fixtures.py architectures record_architectures.py [SEED [ARCHITECTURE ...]]

In place of an ARCHITECTURE, "newer" stands for those since ModernBERT, and "older" for the others, without multiple choice. "choices"
stands for multiple choice with all architectures that have it.
Writes ARCHITECTURE-TASK.safetensors with these tensors:
- "param.NAME": the parameters,
- "grad.NAME": their gradients of the mean loss,
- "logits",
- "input_ids", "token_type_ids", "lengths": the packed inputs,
- "labels": for each sequence a class, a score or a set of classes; for each token a class or an id, where -100 means none; for
  questions the start of each answer, with its end in "ends"; for each row of multiple choice the right one of its "choices",
- "losses", of the architectures since ModernBERT and of multiple choice: the loss before each of ten updates by Adam at the rate 0.01, all of this batch.
The metadata "config" holds the model's config.json. Recorded with torch 1.13 and transformers 4.40; the architectures since
ModernBERT, some of which that transformers lacks, and multiple choice with torch 2.15 and transformers 5.24.
"""

import pathlib
import sys

import torch

import small_models

EXAMPLES, CLASSES, VOCABULARY = 5, 3, 23
ROWS, CHOICES = 2, 3  # of multiple choice
SIZES = dict(vocab_size=VOCABULARY, hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=12,
             max_position_embeddings=16, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
             initializer_range=0.3, num_labels=CLASSES)
ARCHITECTURES = {
    "bert": ("Bert", SIZES),
    "roberta": ("Roberta", {**SIZES, "type_vocab_size": 1, "layer_norm_eps": 1e-5}),
    "xlm-roberta": ("XLMRoberta", {**SIZES, "type_vocab_size": 1, "layer_norm_eps": 1e-5, "pad_token_id": 1}),
    "distilbert": ("DistilBert", dict(vocab_size=VOCABULARY, dim=8, n_layers=2, n_heads=2, hidden_dim=12, dropout=0.0,
                                      attention_dropout=0.0, seq_classif_dropout=0.0, qa_dropout=0.0, max_position_embeddings=16,
                                      initializer_range=0.3, num_labels=CLASSES)),
    "electra": ("Electra", {**SIZES, "embedding_size": 4, "hidden_act": "relu"}),
    "albert": ("Albert", {**SIZES, "embedding_size": 4, "num_hidden_layers": 3, "num_hidden_groups": 2,
                          "classifier_dropout_prob": 0.0, "pad_token_id": 0, "hidden_act": "gelu_new"}),
    "deberta-v2": ("DebertaV2", {**SIZES, "max_position_embeddings": 16, "type_vocab_size": 0, "relative_attention": True,
                                 "position_buckets": 4, "max_relative_positions": -1, "pos_att_type": ["p2c", "c2p"],
                                 "share_att_key": True, "norm_rel_ebd": "layer_norm", "position_biased_input": False,
                                 "pooler_dropout": 0.0, "pooler_hidden_act": "gelu", "layer_norm_eps": 1e-7}),
    # Options that no published model uses: absolute positions and token types, and distances without buckets.
    "deberta-v2-biased": ("DebertaV2", {**SIZES, "type_vocab_size": 2, "relative_attention": True, "position_buckets": -1,
                                        "max_relative_positions": 6, "pos_att_type": "c2p|p2c", "share_att_key": True,
                                        "position_biased_input": True}),
    # The convolution of DeBERTa-v2-xlarge, beside its first layer.
    "deberta-v2-convolved": ("DebertaV2", {**SIZES, "type_vocab_size": 0, "relative_attention": True, "position_buckets": 4,
                                           "max_relative_positions": -1, "pos_att_type": "p2c|c2p", "share_att_key": True,
                                           "norm_rel_ebd": "layer_norm", "position_biased_input": False,
                                           "pooler_dropout": 0.0, "pooler_hidden_act": "gelu", "layer_norm_eps": 1e-7,
                                           "conv_kernel_size": 3, "conv_act": "gelu"}),
}
# Local attention reaches two tokens, and texts have up to 13.
MODERNBERT = dict(vocab_size=VOCABULARY, hidden_size=8, num_hidden_layers=4, num_attention_heads=2, intermediate_size=12,
                  max_position_embeddings=16, initializer_range=0.3, num_labels=CLASSES, pad_token_id=0, bos_token_id=1,
                  eos_token_id=2, cls_token_id=1, sep_token_id=2, local_attention=5)
NEWER = {
    "modernbert": ("ModernBert", MODERNBERT),
    # Every option that no published model uses, and a last layer whose attention is local.
    "modernbert-biased": ("ModernBert", {**MODERNBERT, "attention_bias": True, "mlp_bias": True, "norm_bias": True,
                                         "classifier_bias": True, "classifier_pooling": "mean", "num_hidden_layers": 3,
                                         "classifier_activation": "relu", "hidden_activation": "gelu_new"}),
    "mpnet": ("MPNet", {**SIZES, "layer_norm_eps": 1e-5}),
    "nomic": ("NomicBert", SIZES),
    "roformer": ("RoFormer", {**SIZES, "embedding_size": 4}),
    "data2vec-text": ("Data2VecText", {**SIZES, "type_vocab_size": 1, "layer_norm_eps": 1e-5}),
    "megatron-bert": ("MegatronBert", SIZES),
    "roberta-prelayernorm": ("RobertaPreLayerNorm", {**SIZES, "type_vocab_size": 1, "layer_norm_eps": 1e-5}),
    "xlm-roberta-xl": ("XLMRobertaXL", SIZES),
    "ernie": ("Ernie", {**SIZES, "use_task_id": True}),
}
# Masked language models with a decoder of their own.
UNTIED = {name + "-untied": (class_name, {**sizes, "tie_word_embeddings": False})
          for name, (class_name, sizes) in (ARCHITECTURES | NEWER).items()
          if name in ("bert", "roberta", "distilbert", "electra", "albert", "deberta-v2", "modernbert", "mpnet")}
NEWER |= UNTIED
ARCHITECTURES |= NEWER
TASKS = {"sequence": "ForSequenceClassification", "token": "ForTokenClassification", "masked": "ForMaskedLM",
         "score": "ForSequenceClassification", "sets": "ForSequenceClassification", "qa": "ForQuestionAnswering",
         "choice": "ForMultipleChoice"}
SETTINGS = {"score": dict(num_labels=1, problem_type="regression"), "sets": dict(problem_type="multi_label_classification"),
            "qa": dict(num_labels=2), "choice": dict(summary_last_dropout=0.0)}
# xlm-roberta is nearly roberta. transformers has no class for nomic, and the class for roformer reads the padding.
CHOOSING = ("bert", "roberta", "distilbert", "electra", "albert", "deberta-v2", "modernbert", "modernbert-biased", "mpnet", "data2vec-text", "megatron-bert",
            "roberta-prelayernorm", "xlm-roberta-xl", "ernie")


def answers(model, inputs, lengths, labels):
    """The mean loss and the logits [T,2]. Computed one sequence at a time, because in a padded batch the softmax includes padding."""
    losses, logits = [], []
    for i, length in enumerate(lengths):
        output = model(**{name: value[i:i + 1, :length] for name, value in inputs.items()},
                       start_positions=labels[0, i:i + 1], end_positions=labels[1, i:i + 1])
        losses.append(output.loss)
        logits.append(torch.stack([output.start_logits[0], output.end_logits[0]], dim=1).detach())
    return sum(losses) / len(losses), torch.cat(logits)


def make_model(architecture, task):
    prefix, arguments = ARCHITECTURES[architecture]
    return small_models.make_model(prefix, TASKS[task], SEED, **{**arguments, **SETTINGS.get(task, {})})


def make_inputs(architecture, config, examples=EXAMPLES):
    """Padded inputs, their mask and the lengths. One text also contains RoBERTa's padding id, which has a position of its own."""
    pad = config.pad_token_id
    lengths = torch.tensor([1, 9, 4, 13, 6] + [5] * (examples - EXAMPLES))
    width = int(lengths.max())
    mask = torch.arange(width)[None, :] < lengths[:, None]
    ids = torch.randint(2, VOCABULARY, (examples, width)) * mask + pad * ~mask
    ids[1, 3] = pad
    types = torch.randint(0, 2, (examples, width)) * mask if getattr(config, "type_vocab_size", 1) > 1 else torch.zeros_like(ids)
    inputs = {"input_ids": ids, "attention_mask": mask.long()}
    if architecture not in ("distilbert", "mpnet") and not architecture.startswith("modernbert"):
        inputs["token_type_ids"] = types
    packed = {"input_ids": ids[mask].to(torch.int32), "token_type_ids": types[mask].to(torch.int32),
              "lengths": lengths.to(torch.int32)}
    return inputs, mask, lengths, packed


def compute(model, task, inputs, mask, lengths, labels):
    """The mean loss and the logits without padding."""
    if task == "qa":
        return answers(model, inputs, lengths, labels)
    output = model(**inputs, labels=labels)
    return output.loss, (output.logits[mask] if task in ("token", "masked") else output.logits).detach().clone()


def train(model, *batch):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for _ in range(10):
        optimizer.zero_grad()
        loss = compute(model, *batch)[0]
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return torch.tensor(losses)


# What transformers calls the parts of a NomicBERT, and their names in files.
NOMIC_NAMES = {"embeddings.LayerNorm": "emb_ln", "bert.layers": "bert.encoder.layers", "self_attn.": "attn.", "o_proj": "out_proj",
               "up_proj": "fc11", "gate_proj": "fc12", "down_proj": "fc2", "post_attention_layernorm": "norm1",
               "post_mlp_layernorm": "norm2", "q_proj": "Wqkv"}


def as_in_files(architecture, tensors):
    """The tensors under the names of files. Those of NomicBERT have query, key and value as one matrix."""
    if architecture != "nomic":
        return tensors
    renamed = {}
    for name, value in tensors.items():
        if "q_proj" in name:
            value = torch.cat([value, tensors[name.replace("q_proj", "k_proj")], tensors[name.replace("q_proj", "v_proj")]])
        for ours, saved in NOMIC_NAMES.items():
            name = name.replace(ours, saved)
        if "k_proj" not in name and "v_proj" not in name:
            renamed[name] = value
    return renamed


def record(out, architecture, task):
    model = make_model(architecture, task)
    parameters = {name: value.detach().clone().contiguous() for name, value in model.named_parameters()}
    recorded = {"param." + name: value for name, value in as_in_files(architecture, parameters).items()}
    inputs, mask, lengths, packed = make_inputs(architecture, model.config, ROWS * CHOICES if task == "choice" else EXAMPLES)
    recorded.update(packed)
    if task == "sequence":
        labels = torch.randint(0, CLASSES, (EXAMPLES,))
    elif task == "score":
        labels = torch.randn(EXAMPLES)
    elif task == "sets":
        labels = torch.randint(0, 2, (EXAMPLES, CLASSES)).float()
    elif task == "choice":
        inputs = {name: value.view(ROWS, CHOICES, -1) for name, value in inputs.items()}
        labels, recorded["choices"] = torch.randint(0, CHOICES, (ROWS,)), torch.tensor([CHOICES], dtype=torch.int32)
    elif task == "qa":
        labels = torch.stack([torch.arange(EXAMPLES) % lengths, (7 + torch.arange(EXAMPLES)) % lengths])
    else:
        labels = torch.randint(0, CLASSES if task == "token" else VOCABULARY, mask.shape)
        labels[~mask | (torch.rand(mask.shape) < 0.4)] = -100
    batch = (task, inputs, mask, lengths, labels)
    loss, recorded["logits"] = compute(model, *batch)
    if task == "qa":
        starts_of_sequences = lengths.cumsum(0) - lengths
        recorded["ends"] = (labels[1] + starts_of_sequences).to(torch.int32)
        labels = labels[0] + starts_of_sequences
    elif task in ("token", "masked"):
        labels = labels[mask]
    loss.backward()
    recorded["labels"] = labels if labels.is_floating_point() else labels.to(torch.int32)
    recorded["loss"] = loss
    # DistilBERT's positions may be sinusoids without a gradient.
    gradients = {name: value.grad.detach().clone() for name, value in model.named_parameters() if value.grad is not None}
    recorded.update({"grad." + name: value for name, value in as_in_files(architecture, gradients).items()})
    if architecture in NEWER or task == "choice":
        recorded["losses"] = train(model, *batch)
    small_models.save(out / f"{architecture}-{task}.safetensors", recorded, config=model.config)
    print(architecture, task, loss.item())


SEED = int(sys.argv[2]) if len(sys.argv) > 2 else 7


def main():
    out = pathlib.Path(sys.argv[1])
    older = [architecture for architecture in ARCHITECTURES if architecture not in NEWER]
    groups = {"newer": list(NEWER), "older": older, "choices": []}
    names = sys.argv[3:] or ["older", "newer", "choices"]
    for architecture in CHOOSING if "choices" in names else ():
        record(out, architecture, "choice")
    for architecture in [each for name in names for each in groups.get(name, [name])]:
        for task in TASKS:
            if task == "choice":
                continue
            if architecture in ("xlm-roberta", "deberta-v2-biased", "deberta-v2-convolved", "modernbert-biased", "data2vec-text") and task not in (
                    "sequence", "qa"):
                continue  # nearly the same as the one before
            if architecture in UNTIED and task != "masked":
                continue
            if task in ("score", "sets") and architecture not in ("bert", "roberta"):
                continue  # it has the head of "sequence"
            if task == "qa" and architecture == "nomic":
                continue  # transformers has no such class
            if task != "qa" or architecture not in ("deberta-v2-biased", "deberta-v2-convolved"):
                record(out, architecture, task)


if __name__ == "__main__":
    main()
