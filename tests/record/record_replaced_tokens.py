"""Records the loss and the gradients of pre-training by replaced-token detection, as transformers computes them.

    python tests/record/record_replaced_tokens.py tests/testdata/replaced_tokens

Writes electra.safetensors with an ElectraForMaskedLM and an ElectraForPreTraining that share their embeddings:
- "param.NAME" and "grad.NAME": the parameters of the discriminator, and of the generator as "generator.NAME", with their
  gradients of the generator's mean loss plus 50 times the discriminator's,
- "input_ids" (masked), "token_type_ids", "lengths": the packed inputs,
- "masked", "labels": the places of the masked tokens and the ids that stood there,
- "replaced_ids": what the discriminator reads. The ids are drawn from the generator's softmax by the definition in
  trainer/cpu/kernels/losses.cpp, for seed 9 and update 4,
- "loss", "generator_loss", "discriminator_loss", and "logits", the discriminator's.
The metadata "config" and "generator_config" hold the two configurations.
"""

import pathlib
import sys

import torch
from transformers import ElectraConfig, ElectraForMaskedLM, ElectraForPreTraining

import small_models

VOCABULARY, MASK, SEED, STEP = 23, 2, 9, 4
SAMPLING = 0x73616D70  # "samp"
GENERATOR_STEPS = 1 << 63
SIZES = dict(vocab_size=VOCABULARY, embedding_size=8, num_hidden_layers=2, max_position_embeddings=16, hidden_dropout_prob=0.0,
             attention_probs_dropout_prob=0.0, initializer_range=0.3, hidden_act="gelu")


def philox(counter, key):
    """Philox 4x32-10."""
    c, k = list(counter), list(key)
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & 0xFFFFFFFF, (a >> 32) ^ c[3] ^ k[1], a & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def draw(logits, token):
    """The id that is drawn for a token: the inverse of the distribution function at the token's random number."""
    step = STEP | GENERATOR_STEPS
    key = philox([step & 0xFFFFFFFF, step >> 32, SAMPLING, 0], [SEED, 0])[:2]
    words = philox([token, 0, 0, 0], key)
    wanted = words[0] * 2.0**-32 + (words[1] >> 12) * 2.0**-52
    return int((torch.softmax(logits.double(), -1).cumsum(-1) <= wanted).sum())


def main():
    torch.manual_seed(11)
    config = ElectraConfig(hidden_size=16, num_attention_heads=4, intermediate_size=24, **SIZES)
    generator_config = ElectraConfig(hidden_size=8, num_attention_heads=2, intermediate_size=12, **SIZES)
    discriminator, generator = ElectraForPreTraining(config).train(), ElectraForMaskedLM(generator_config).train()
    small_models.move_parameters(discriminator)
    small_models.move_parameters(generator)
    generator.electra.embeddings = discriminator.electra.embeddings
    generator.generator_lm_head.weight = discriminator.electra.embeddings.word_embeddings.weight

    lengths = torch.tensor([3, 9, 4, 13, 6])
    arguments, mask = small_models.make_batch(lengths, VOCABULARY, first_id=3)
    original = arguments.pop("input_ids")
    chosen = (torch.rand(mask.shape) < 0.4) & mask
    inputs = torch.where(chosen & (torch.rand(mask.shape) < 0.85), torch.full_like(original, MASK), original)
    told = generator(input_ids=inputs, labels=torch.where(chosen, original, -100), **arguments)

    replaced = original.clone()
    places = chosen[mask].nonzero().flatten()  # in the packed batch
    replaced[chosen] = torch.tensor([draw(row, int(place)) for row, place in zip(told.logits[chosen].detach(), places)])
    is_replaced = (replaced != original) & mask
    found = discriminator(input_ids=replaced, labels=is_replaced.float(), **arguments)
    loss = told.loss + 50 * found.loss
    loss.backward()

    recorded = small_models.packed(mask, lengths, inputs, arguments["token_type_ids"], masked=places, labels=original[chosen],
                                   replaced_ids=replaced[mask])
    recorded |= {"loss": loss, "generator_loss": told.loss, "discriminator_loss": found.loss, "logits": found.logits[mask]}
    shared = set(dict(discriminator.named_parameters()).values())
    for model, prefix in ((discriminator, ""), (generator, "generator.")):
        for name, parameter in model.named_parameters():
            if prefix and parameter in shared:
                continue
            name = prefix + name
            recorded |= {f"param.{name}": parameter, f"grad.{name}": parameter.grad}
    small_models.save(pathlib.Path(sys.argv[1]) / "electra.safetensors", recorded, config=config, generator_config=generator_config)
    print(told.loss.item(), found.loss.item(), int(is_replaced.sum()), "of", len(places), "replaced")


if __name__ == "__main__":
    main()
