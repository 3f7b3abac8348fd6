"""The small models and inputs of the scripts in this folder and in tests/peers, and how they are written.

Whoever changes the order in which random numbers are drawn changes all recorded files.
"""
import json

import torch
import transformers
from safetensors.torch import save_file


def move_parameters(model):
    """Moves biases and LayerNorm away from 0 and 1, where a mistake in their use would not be seen."""
    for parameter in model.parameters():
        noise = 0.05 * torch.randn_like(parameter)
        parameter.data += noise if parameter.requires_grad else 0  # RoFormer's sines are a constant
    return model


def make_model(prefix, task, seed, **sizes):
    """A model of the class PREFIX + TASK of transformers, such as "Bert" and "ForMaskedLM"."""
    torch.manual_seed(seed)
    config = getattr(transformers, prefix + "Config")(**sizes)
    return move_parameters(getattr(transformers, prefix + task)(config).train())


def make_batch(lengths, vocabulary, first_id=1):
    """The padded arguments of a model, from random ids and types, and the mask of the tokens."""
    mask = torch.arange(int(lengths.max()))[None, :] < lengths[:, None]
    ids = torch.randint(first_id, vocabulary, mask.shape) * mask
    types = torch.randint(0, 2, mask.shape) * mask
    return {"input_ids": ids, "token_type_ids": types, "attention_mask": mask.long()}, mask


def packed(mask, lengths, input_ids, token_type_ids, **others):
    """The inputs without padding, as a test reads them."""
    tensors = {"input_ids": input_ids[mask], "token_type_ids": token_type_ids[mask], "lengths": lengths, **others}
    return {name: value.to(torch.int32) for name, value in tensors.items()}


def save(path, tensors, **configs):
    """Writes detached copies of the tensors, and configurations as metadata. Numbers become vectors of one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    tensors = {name: value.detach().clone().contiguous() for name, value in tensors.items()}
    save_file({name: value.reshape(1) if value.dim() == 0 else value for name, value in tensors.items()}, path,
              metadata={name: json.dumps(config.to_dict(), sort_keys=True) for name, config in configs.items()} or None)
