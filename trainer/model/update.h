#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

namespace berth {

// The type to which the factors of large matrix products are rounded. Sums, statistics and the
// optimizer stay in fp32. kAuto is bf16 where the device multiplies bf16 natively, else fp32. kInt8
// is for inference only.
enum class Precision { kAuto, kFp32, kBf16, kInt8 };

constexpr std::string_view name_of(Precision precision) {
  constexpr std::string_view kNames[] = {"auto", "fp32", "bf16", "int8"};
  return kNames[static_cast<size_t>(precision)];
}

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
  // Label smoothing of classes, as torch.nn.CrossEntropyLoss defines it without weights (Szegedy et
  // al. 2015, arXiv:1512.00567). Scores, sets of classes and answers are never smoothed.
  double label_smoothing = 0;
  // For a focal loss (Lin et al. 2017, arXiv:1708.02002, equation 4): a class, or each label of a
  // set, that the model gives the probability p has (1 - p)^gamma of its loss. 0: the plain loss.
  // Not together with label smoothing or a teacher.
  double focal_gamma = 0;
  // For sets of classes: the factor of each label's loss in rows that have the label, which
  // torch.nn.BCEWithLogitsLoss calls pos_weight. Empty: 1.
  std::vector<float> positive_weights{};
  DistillationLoss distillation{};
  // The factor of the discriminator's mean loss, before the generator's is added (Clark et al.
  // 2020, arXiv:2003.10555, section 2). Evaluation does the same.
  double discriminator_weight = 50;
};

enum class OptimizerType { kAdamW, kLamb };

// The factors of Adam's moving averages, which AdamW and LAMB share.
struct AdamWOptions {
  float beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f;
};

struct OptimizerOptions {
  OptimizerType type = OptimizerType::kAdamW;
  AdamWOptions adamw{};        // LAMB uses them, too.
  double weight_decay = 0.01;  // Applies to the parameters whose ParameterSpec::decays is true.
  double max_grad_norm = 1.0;  // 0 means no clipping.
  // The rate of a parameter divided by the rate of one a layer above it (ELECTRA, Clark et al.
  // 2020, arXiv:2003.10555). The deepest parameters have the whole rate.
  double layerwise_decay = 1;
  // Parameters of a smaller ParameterSpec::depth do not train: parameter_table() takes it.
  int64_t first_depth = 0;
};

// The generator of dropout's random numbers. kPhilox needs 64-bit products of integers; kThreefry
// needs additions, rotations and xors of 32 bits only.
enum class DropoutGenerator { kPhilox, kThreefry };

// The inputs of an update besides its batch.
struct UpdateInputs {
  uint64_t seed = 0;
  uint64_t step = 0;  // The number of updates before this one; dropout and bias correction use it.
  float learning_rate = 0;
};

// The outcome of an update.
struct UpdateOutcome {
  double loss_sum = 0;   // Over the examples of all micro-batches.
  double examples = 0;   // The sum of the examples' weights.
  double grad_norm = 0;  // The norm of the mean loss's gradient, before clipping.

  // False: the loss or the gradient is not a finite number. The engine then left parameters and
  // optimizer state as they were before this update.
  bool was_applied() const { return std::isfinite(loss_sum) && std::isfinite(grad_norm); }
};

}  // namespace berth
