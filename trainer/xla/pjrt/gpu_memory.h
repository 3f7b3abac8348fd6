#pragma once

#include <optional>

namespace berth {

// How XLA's plugin for GPUs takes memory; what is empty, the plugin decides. By default it takes 75
// % of each GPU at once, so that a second process finds no free memory.
struct GpuMemory {
  std::optional<bool> preallocates{};
  std::optional<float> fraction{};  // of a GPU's memory: the most that the process takes
};

}  // namespace berth
