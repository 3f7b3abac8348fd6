#pragma once

#include <vector>

#include "storage/formats/pickle/pickle_dialect.h"
#include "storage/formats/pickle/pickle_graph.h"

namespace berth {

struct LoadedPickle {
  PickleGraph graph;
  NodeId top;
  size_t size_bytes;  // up to STOP, inclusive
};

// Runs the opcodes of protocols 0-5 (CPython Lib/pickletools.py) up to STOP; what follows is
// ignored, as Python does. Throws kCorrupt on damage and kBadData on what `dialect` refuses, both
// naming the byte offset. Time and memory are linear in the pickle's size.
LoadedPickle load_pickle(std::vector<std::byte> pickle, PickleDialect& dialect);

}  // namespace berth
