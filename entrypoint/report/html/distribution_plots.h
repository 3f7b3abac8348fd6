#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trainer/tasks/evaluation_details.h"

namespace berth {

// How many values there are in each of some equal intervals.
struct Histogram {
  std::string title{}, x_name{};
  double first = 0, width = 1;  // the first interval begins at `first`
  std::vector<int64_t> counts{};
  std::optional<double> line{};  // a dashed line from top to bottom
  std::string line_name{};
};
// The histogram of `values` in about twenty intervals, which are no narrower than `least_width`: 1
// for whole numbers. Values that are not finite do not count.
Histogram histogram_of(std::span<const double> values, double least_width = 0);

// Each as <figure>, with a table of its values behind a disclosure. Empty without values.
std::string figure(const Histogram& histogram);
// Predicted numbers over the true ones.
std::string scatter_figure(const std::vector<NumberPair>& pairs);
// The share of right predictions over their probability.
std::string reliability_figure(const Calibration& calibration);

}  // namespace berth
