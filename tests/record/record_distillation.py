"""Records what PyTorch computes for the distillation of classes: losses and gradients of made-up logits.

    python tests/record/record_distillation.py > tests/testdata/distillation.json

The loss is the usual one of scripts that distil with transformers: alpha * T^2 * KL(softmax(teacher / T) || softmax(student / T)) +
(1 - alpha) * cross_entropy(student, label, label_smoothing). Recorded with torch 2.
"""

import json

import torch
import torch.nn.functional as F

torch.manual_seed(3)


def record(rows, classes, weight, temperature, smoothing):
    student = (3 * torch.randn(rows, classes)).requires_grad_()
    teacher = 3 * torch.randn(rows, classes)
    labels = torch.randint(0, classes, (rows,))
    soft = F.kl_div(
        F.log_softmax(student / temperature, -1),
        F.softmax(teacher / temperature, -1),
        reduction="none",
    ).sum(-1)
    hard = F.cross_entropy(student, labels, reduction="none", label_smoothing=smoothing)
    losses = weight * temperature**2 * soft + (1 - weight) * hard
    losses.sum().backward()
    return {
        "classes": classes,
        "weight": weight,
        "temperature": temperature,
        "smoothing": smoothing,
        "labels": labels.tolist(),
        "student": student.detach().flatten().tolist(),
        "teacher": teacher.flatten().tolist(),
        "losses": losses.tolist(),
        "gradient": student.grad.flatten().tolist(),
    }


CASES = [
    record(1, 2, 1.0, 1.0, 0.0),
    record(7, 4, 0.5, 2.0, 0.0),
    record(5, 3, 0.9, 4.0, 0.1),
    record(3, 20, 0.0, 2.0, 0.0),
]
print(json.dumps(CASES, indent=1))
