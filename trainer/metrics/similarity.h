#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace berth {

// Compares the directions of predicted vectors with the directions of the true ones. Not
// thread-safe.
class SimilarityMetrics {
 public:
  // Both have the same length.
  void add(std::span<const float> prediction, std::span<const float> truth);

  // cosine_similarity: the mean cosine of the angle between prediction and truth, where a zero
  // vector counts as 0. It is 0 where there are no examples.
  std::map<std::string, double> metrics() const;

 private:
  double cosines_ = 0;
  int64_t examples_ = 0;
};

}  // namespace berth
