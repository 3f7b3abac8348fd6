"""Records what PyTorch computes for the losses of classifiers with few positives: losses and gradients of made-up logits.

    python tests/record/record_class_losses.py > tests/testdata/class_losses.json

The focal loss of a softmax is (1 - p)^gamma * cross_entropy, where p is the probability of the label (Lin et al. 2017, equation 4).
The focal loss of a sigmoid is torchvision.ops.sigmoid_focal_loss with alpha=-1, whose lines are repeated here. Weights of labels are
BCEWithLogitsLoss' pos_weight. Recorded with torch 2.
"""

import json

import torch
import torch.nn.functional as F

torch.manual_seed(5)


def recorded(logits, losses, **settings):
    losses.sum().backward()
    return {
        **settings,
        "logits": logits.detach().flatten().tolist(),
        "losses": losses.tolist(),
        "gradient": logits.grad.flatten().tolist(),
    }


def softmax_case(rows, classes, gamma, scale):
    logits = (scale * torch.randn(rows, classes)).requires_grad_()
    labels = torch.randint(0, classes, (rows,))
    cross_entropy = F.cross_entropy(logits, labels, reduction="none")
    p = torch.exp(-cross_entropy)
    return recorded(logits, (1 - p) ** gamma * cross_entropy, kind="softmax", classes=classes, gamma=gamma, labels=labels.tolist())


def sigmoid_case(rows, classes, gamma, positive_weights=None):
    logits = (2 * torch.randn(rows, classes)).requires_grad_()
    targets = torch.randint(0, 2, (rows, classes)).float()
    pos_weight = None if positive_weights is None else torch.tensor(positive_weights)
    p = torch.sigmoid(logits)
    cross_entropy = F.binary_cross_entropy_with_logits(logits, targets, reduction="none", pos_weight=pos_weight)
    p_t = p * targets + (1 - p) * (1 - targets)
    losses = (cross_entropy * ((1 - p_t) ** gamma)).mean(-1)
    return recorded(
        logits, losses, kind="sigmoid", classes=classes, gamma=gamma, targets=targets.flatten().tolist(), positive_weights=positive_weights or []
    )


CASES = [
    softmax_case(6, 2, 2.0, 1.0),
    softmax_case(5, 4, 0.5, 3.0),
    softmax_case(4, 7, 5.0, 2.0),
    sigmoid_case(4, 3, 2.0),
    sigmoid_case(3, 5, 0.5),
    sigmoid_case(4, 3, 0.0, [3.0, 0.25, 1.0]),
    sigmoid_case(5, 2, 2.0, [9.0, 0.5]),
]
print(json.dumps(CASES, indent=1))
