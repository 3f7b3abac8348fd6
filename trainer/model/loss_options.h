#pragma once

namespace berth {

// How the loss is computed in training. Evaluation always computes the plain loss.
struct LossOptions {
  // Label smoothing of classes, as torch.nn.CrossEntropyLoss defines it (Szegedy et al. 2015,
  // arXiv:1512.00567). Scores, sets of classes and answers are never smoothed.
  double label_smoothing = 0;
};

}  // namespace berth
