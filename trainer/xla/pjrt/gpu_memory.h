#pragma once

#include <optional>

namespace berth {

// How XLA's plugin for GPUs takes memory; what is empty, the plugin decides. Its own choice is to
// take 75 % of each GPU at once, so that a second process finds no room.
struct GpuMemory {
  std::optional<bool> preallocates{};
  std::optional<float> fraction{};  // of a GPU's memory: what the process takes at most
};

}  // namespace berth
