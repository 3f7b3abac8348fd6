"""Records what PyTorch and transformers compute for a small BERT classifier in ten updates.

    python tests/record/record_bert_parity.py tests/testdata/parity

Writes config.json and bert.safetensors with these tensors:
- the parameters under their own names,
- "grad.NAME": the gradients of the first update's mean loss,
- "logits": the logits of the first update's examples,
- "input_ids.K", "token_type_ids.K", "lengths.K", "labels.K": the inputs of update K,
- "losses": the mean losses of ten updates.
The optimizer is AdamW without dropout: decay 0.01 except on biases and LayerNorm, gradients clipped to norm 1, linear warm-up over 2 of
the 10 updates to 2e-3. There is no vocabulary. Recorded with torch 1.13 and transformers 4.40.
"""

import json
import pathlib
import sys

import torch
from transformers import get_linear_schedule_with_warmup

import small_models

UPDATES, EXAMPLES = 10, 7

model = small_models.make_model(
    "Bert", "ForSequenceClassification", 20, vocab_size=61, hidden_size=24, num_hidden_layers=2, num_attention_heads=3,
    intermediate_size=40, max_position_embeddings=20, type_vocab_size=2, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    initializer_range=0.3, id2label={0: "a", 1: "b", 2: "c"}, label2id={"a": 0, "b": 1, "c": 2})

recorded = {name: value.detach().clone().contiguous() for name, value in model.named_parameters()}


def make_update(index):
    generator = torch.Generator().manual_seed(100 + index)
    lengths = torch.randint(1, 19, (EXAMPLES,), generator=generator)
    lengths[0] = 1
    width = int(lengths.max())
    ids = torch.randint(1, 61, (EXAMPLES, width), generator=generator)
    types = torch.randint(0, 2, (EXAMPLES, width), generator=generator)
    mask = torch.arange(width)[None, :] < lengths[:, None]
    labels = torch.randint(0, 3, (EXAMPLES,), generator=generator)
    flat = mask.flatten()
    recorded[f"input_ids.{index}"] = ids.flatten()[flat].to(torch.int32)
    recorded[f"token_type_ids.{index}"] = types.flatten()[flat].to(torch.int32)
    recorded[f"lengths.{index}"] = lengths.to(torch.int32)
    recorded[f"labels.{index}"] = labels.to(torch.int32)
    return {"input_ids": ids * mask, "token_type_ids": types * mask, "attention_mask": mask.long(), "labels": labels}


plain = [p for n, p in model.named_parameters() if n.endswith("bias") or "LayerNorm" in n]
decayed = [p for n, p in model.named_parameters() if not (n.endswith("bias") or "LayerNorm" in n)]
optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": 0.01}, {"params": plain, "weight_decay": 0.0}],
                              lr=2e-3, betas=(0.9, 0.999), eps=1e-8)
schedule = get_linear_schedule_with_warmup(optimizer, 2, UPDATES)
losses = []
for index in range(UPDATES):
    output = model(**make_update(index))
    output.loss.backward()
    if index == 0:
        recorded["logits"] = output.logits.detach().clone()
        for name, parameter in model.named_parameters():
            recorded["grad." + name] = parameter.grad.detach().clone()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    schedule.step()
    optimizer.zero_grad()
    losses.append(output.loss.item())
recorded["losses"] = torch.tensor(losses)

out = pathlib.Path(sys.argv[1])
small_models.save(out / "bert.safetensors", recorded)
(out / "config.json").write_text(json.dumps(model.config.to_dict(), indent=2, sort_keys=True) + "\n")
print(losses)
