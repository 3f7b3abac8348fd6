#pragma once

namespace berth {

// How a classifier learns from a teacher's logits beside the labels (Hinton et al. 2015,
// arXiv:1503.02531): (1 - weight) times the loss of the labels, and weight times temperature^2
// times the Kullback-Leibler divergence of the student's probabilities from the teacher's, where
// both are softmax(logits / temperature). It has no effect on batches without a teacher's logits.
struct DistillationLoss {
  double weight = 0.5;
  double temperature = 2;
};

// How the loss is computed in training. Evaluation always computes the plain loss.
struct LossOptions {
  // Label smoothing of classes, as torch.nn.CrossEntropyLoss defines it (Szegedy et al. 2015,
  // arXiv:1512.00567). Scores, sets of classes and answers are never smoothed.
  double label_smoothing = 0;
  DistillationLoss distillation{};
  // The factor of the discriminator's mean loss, before the generator's is added (Clark et al.
  // 2020, arXiv:2003.10555, section 2). Evaluation does the same.
  double discriminator_weight = 50;
};

}  // namespace berth
