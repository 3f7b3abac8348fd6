#pragma once

#include <vector>

#include "storage/formats/pickle/pickle_graph.h"

namespace berth {

struct LoadedPickle {
  PickleGraph graph;
  NodeId top;
};

// Runs the opcodes of protocols 0-5 (CPython Lib/pickletools.py) up to STOP; what follows is
// ignored, as Python does. Throws kCorrupt on damage and kBadData on what no table needs, both
// naming the byte offset. Time and memory are linear in the pickle's size.
LoadedPickle load_pickle(std::vector<std::byte> pickle);

}  // namespace berth
