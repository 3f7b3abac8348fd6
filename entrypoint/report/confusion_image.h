#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace berth {

// A picture of a confusion matrix, as a PNG file. Equal matrices give equal bytes.
struct ConfusionImage {
  uint32_t width = 0, height = 0;
  std::vector<std::byte> png{};
};

// Draws `counts` [true class][predicted class], which is square and not empty. A cell is as dark as
// its share of its row. For up to 20 classes, the cells hold their counts, and the rows and columns
// have the numbers of the classes, from 0. For more classes, there are only cells.
ConfusionImage confusion_image(const std::vector<std::vector<int64_t>>& counts);

}  // namespace berth
