#include "trainer/metrics/similarity.h"

#include <cassert>
#include <cmath>

namespace berth {

void SimilarityMetrics::add(std::span<const float> prediction, std::span<const float> truth) {
  assert(prediction.size() == truth.size());
  double product = 0, of_prediction = 0, of_truth = 0;
  for (size_t i = 0; i < truth.size(); ++i) {
    const auto a = static_cast<double>(prediction[i]), b = static_cast<double>(truth[i]);
    product += a * b;
    of_prediction += a * a;
    of_truth += b * b;
  }
  const double lengths = std::sqrt(of_prediction * of_truth);
  if (lengths > 0) cosines_ += product / lengths;
  ++examples_;
}

std::map<std::string, double> SimilarityMetrics::metrics() const {
  const double mean = examples_ > 0 ? cosines_ / static_cast<double>(examples_) : 0;
  return {{"cosine_similarity", mean}};
}

}  // namespace berth
