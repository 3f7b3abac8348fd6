#pragma once

#include <cstdint>
#include <optional>

#include "trainer/distributed/communicator.h"

namespace berth {

// How XLA's plugin for GPUs takes memory; what is empty, the plugin decides. By default it takes 75
// % of each GPU at once, so that a second process finds no free memory.
struct GpuMemory {
  std::optional<bool> preallocates{};
  std::optional<float> fraction{};  // of a GPU's memory: the most that the process takes
};

// The hosts whose devices compute one program together, each with a process of its own. A plugin
// for GPUs finds the others through `store`. One for TPUs finds them by the environment that the
// platform sets.
//
// Experimental: no plugin for several hosts has been tried.
struct PjrtHosts {
  int64_t rank = 0, size = 1;
  KeyValueStore* store = nullptr;  // Outlives the client. Null where size is 1.
  // Whether the plugin takes the options node_id and num_nodes, as XLA's for GPUs does.
  bool names_nodes = false;

  bool are_several() const { return size > 1; }
};

}  // namespace berth
