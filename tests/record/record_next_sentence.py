"""Records the loss and the gradients of the pre-training of BERT and ALBERT, as transformers' models "ForPreTraining" compute them.

    python tests/record/record_next_sentence.py tests/testdata/next_sentence [albert]

Writes bert.safetensors or albert.safetensors:
- "param.NAME" and "grad.NAME": the parameters, with their gradients of the loss,
- "input_ids" (masked), "token_type_ids", "lengths": the packed inputs,
- "masked", "labels": the places of the masked tokens and the ids that stood there,
- "next_sentences": 0 where the second text follows the first one, else 1,
- "loss", "masked_loss" and "next_loss", of which it is the sum,
- "logits": of pairs, "masked_losses" and "predicted": the loss of each masked token and the most likely id.
The metadata "config" holds the configuration.
"""

import pathlib
import sys

import torch

import small_models

VOCABULARY, MASK = 23, 2


# The class without "ForPreTraining", its settings, its argument for the pairs, and their logits.
KINDS = {"bert": ("Bert", dict(hidden_act="gelu"), "next_sentence_label", "seq_relationship_logits"),
         "albert": ("Albert", dict(hidden_act="gelu_new", embedding_size=8, classifier_dropout_prob=0.0), "sentence_order_label",
                    "sop_logits")}


def main():
    kind = sys.argv[2] if len(sys.argv) > 2 else "bert"
    name, settings, label, logits = KINDS[kind]
    model = small_models.make_model(name, "ForPreTraining", 5, vocab_size=VOCABULARY, hidden_size=16, num_hidden_layers=2,
                                    num_attention_heads=4, intermediate_size=24, max_position_embeddings=16,
                                    hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, initializer_range=0.3, **settings)
    lengths = torch.tensor([3, 9, 4, 13, 6])
    arguments, mask = small_models.make_batch(lengths, VOCABULARY, first_id=3)
    original = arguments.pop("input_ids")
    chosen = (torch.rand(mask.shape) < 0.4) & mask
    chosen[:, 0] = False
    chosen[2] = False  # a pair may have no masked token
    inputs = torch.where(chosen & (torch.rand(mask.shape) < 0.85), torch.full_like(original, MASK), original)
    next_sentences = torch.tensor([1, 0, 0, 1, 0])
    labels = torch.where(chosen, original, -100)
    found = model(input_ids=inputs, labels=labels, **{label: next_sentences}, **arguments)
    found.loss.backward()

    masked_losses = torch.nn.functional.cross_entropy(found.prediction_logits[chosen], original[chosen], reduction="none")
    next_loss = torch.nn.functional.cross_entropy(found[logits], next_sentences)
    recorded = small_models.packed(mask, lengths, inputs, arguments["token_type_ids"], masked=chosen[mask].nonzero().flatten(),
                                   labels=original[chosen], next_sentences=next_sentences,
                                   predicted=found.prediction_logits[chosen].argmax(-1))
    recorded |= {"loss": found.loss, "masked_loss": masked_losses.mean(), "next_loss": next_loss,
                 "logits": found[logits], "masked_losses": masked_losses}
    for name, parameter in model.named_parameters():
        recorded |= {f"param.{name}": parameter, f"grad.{name}": parameter.grad}
    small_models.save(pathlib.Path(sys.argv[1]) / f"{kind}.safetensors", recorded, config=model.config)
    print(found.loss.item(), masked_losses.mean().item(), next_loss.item(), int(chosen.sum()), "masked")


if __name__ == "__main__":
    main()
