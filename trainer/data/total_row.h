#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/formats/row_reader.h"

namespace berth {

// Watches for a last row that sums up the rows above it, as spreadsheets have it. Not thread-safe.
class TotalRow {
 public:
  // `label`: its text, or empty. `number`: what the label is as a number, if it is one.
  void add(std::string_view text, std::string_view label, std::optional<double> number);
  // A warning where the last row is called "Total", "Summe" and so on, or its label is the sum of
  // all labels above it. `position`: where the last row stands.
  std::vector<Finding> findings(std::string_view position) const;

 private:
  std::string text_, label_;      // of the last row
  std::optional<double> number_;  // the same
  size_t rows_ = 0;
  bool are_numbers_ = true;       // the labels above the last row
  double sum_ = 0, largest_ = 0;  // of them; the largest without its sign
};

}  // namespace berth
