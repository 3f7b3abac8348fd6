#include <algorithm>
#include <cmath>
#include <vector>

#include "trainer/cpu/kernels/kernels.h"
#include "trainer/cpu/kernels/row_losses.h"

namespace berth {
namespace {

// log(softmax(logits / temperature)).
void log_softmax(const float* logits, int64_t classes, double temperature,
                 std::vector<double>& out) {
  out.assign(logits, logits + classes);
  double most = out[0];
  for (double& x : out) {
    x /= temperature;
    most = std::max(most, x);
  }
  double sum = 0;
  for (const double x : out) sum += std::exp(x - most);
  const double log_sum = most + std::log(sum);
  for (double& x : out) x -= log_sum;
}

}  // namespace

void Kernels::distilled_cross_entropy(const LossInputs& inputs, ConstTensor teacher,
                                      const DistillationLoss& options, float smoothing,
                                      StepState& state, Tensor dlogits) {
  const ProfileScope scope(pool_.profiler(), "distilled_cross_entropy",
                           bytes_of({inputs.logits, teacher, dlogits}));
  const ConstTensor logits = inputs.logits, labels = inputs.targets;
  const int64_t rows = logits.rows(), classes = logits.columns();
  assert(teacher.elements() == logits.elements());
  const double soft = options.weight, hard = 1 - soft, temperature = options.temperature;
  const double share = static_cast<double>(smoothing) / static_cast<double>(classes);
  RowLosses losses(rows, inputs.weights);
  parallel(rows, row_grain(64 * classes), [&](int64_t begin, int64_t end, int) {
    std::vector<double> plain, student, wanted;  // logarithms of probabilities
    for (int64_t b = begin; b < end; ++b) {
      const int64_t label = labels.i32()[b];
      assert(label < classes);
      float* gradient = dlogits ? dlogits.f32() + b * classes : nullptr;
      if (label < 0) {
        if (gradient != nullptr) std::fill_n(gradient, classes, 0.0f);
        continue;
      }
      log_softmax(logits.f32() + b * classes, classes, 1, plain);
      log_softmax(logits.f32() + b * classes, classes, temperature, student);
      log_softmax(teacher.f32() + b * classes, classes, temperature, wanted);
      const double weight = static_cast<double>(losses.weight(b));
      double loss = 0;
      for (int64_t c = 0; c < classes; ++c) {
        const auto at = static_cast<size_t>(c);
        const double target = share + (c == label ? 1 - static_cast<double>(smoothing) : 0);
        const double probability = std::exp(wanted[at]);
        loss -= hard * target * plain[at];
        loss += soft * temperature * temperature * probability * (wanted[at] - student[at]);
        if (gradient == nullptr) continue;
        gradient[c] = static_cast<float>(
            weight * (hard * (std::exp(plain[at]) - target) +
                      soft * temperature * (std::exp(student[at]) - probability)));
      }
      losses.set(b, loss);
    }
  });
  losses.add_to(state);
}

}  // namespace berth
