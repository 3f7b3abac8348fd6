"""Records the loss and the gradients of distilling hidden states, as PyTorch and transformers compute them.

    python tests/record/record_hidden_states.py tests/testdata/hidden_states

Writes bert.safetensors with a student and a teacher, both BertModel without a pooler:
- "param.NAME" and "grad.NAME": the parameters of the student and of the linear map to the teacher's states (teacher_states), with
  the gradients of the loss,
- "teacher.NAME": the parameters of the teacher,
- "input_ids", "token_type_ids", "lengths": the packed inputs,
- "states": the teacher's last hidden states of the packed tokens,
- "loss": torch.nn.functional.mse_loss(teacher_states(student's states), teacher's states) over all tokens, without padding,
- "cosine": the mean cosine of the angle between both.
The metadata "config" and "teacher_config" hold the two configurations.
"""

import pathlib
import sys

import torch
import torch.nn.functional as F
from transformers import BertConfig, BertModel

import small_models

VOCABULARY = 23
SIZES = dict(vocab_size=VOCABULARY, max_position_embeddings=16, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
             initializer_range=0.3)


def main():
    torch.manual_seed(12)
    config = BertConfig(hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=24, **SIZES)
    teacher_config = BertConfig(hidden_size=20, num_hidden_layers=1, num_attention_heads=2, intermediate_size=28, **SIZES)
    student = BertModel(config, add_pooling_layer=False).train()
    teacher = BertModel(teacher_config, add_pooling_layer=False).eval()
    to_teacher = torch.nn.Linear(config.hidden_size, teacher_config.hidden_size)
    small_models.move_parameters(student)
    small_models.move_parameters(teacher)

    lengths = torch.tensor([3, 9, 4, 13, 6])
    arguments, mask = small_models.make_batch(lengths, VOCABULARY)
    with torch.no_grad():
        states = teacher(**arguments).last_hidden_state[mask]
    learnt = to_teacher(student(**arguments).last_hidden_state[mask])
    loss = F.mse_loss(learnt, states)
    loss.backward()

    recorded = small_models.packed(mask, lengths, arguments["input_ids"], arguments["token_type_ids"])
    recorded |= {"states": states, "loss": loss, "cosine": F.cosine_similarity(learnt, states).mean()}
    parameters = {f"bert.{name}": value for name, value in student.named_parameters()}
    parameters |= {f"teacher_states.{name}": value for name, value in to_teacher.named_parameters()}
    for name, value in parameters.items():
        recorded |= {f"param.{name}": value, f"grad.{name}": value.grad}
    recorded |= {f"teacher.bert.{name}": value for name, value in teacher.named_parameters()}
    small_models.save(pathlib.Path(sys.argv[1]) / "bert.safetensors", recorded, config=config, teacher_config=teacher_config)


if __name__ == "__main__":
    main()
