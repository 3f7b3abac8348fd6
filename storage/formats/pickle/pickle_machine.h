#pragma once

#include <vector>

#include "storage/formats/pickle/pickle_dialect.h"
#include "storage/formats/pickle/pickle_graph.h"

namespace berth {

struct LoadedPickle {
  PickleGraph graph;
  NodeId top;
  size_t size_bytes;  // up to and including STOP
};

// Interprets the opcodes of protocols 0 to 5 (CPython Lib/pickletools.py) up to STOP. Like Python,
// it ignores what follows. Throws kCorrupt on damage and kBadData on whatever `dialect` refuses;
// both name the byte offset. Time and memory are linear in the size of the pickle.
LoadedPickle load_pickle(std::vector<std::byte> pickle, PickleDialect& dialect);

// Throws if load_pickle() would throw for every pickle that begins with these bytes. So a file that
// is not a pickle is refused before all of it is in memory.
void check_pickle_beginning(Bytes beginning, PickleDialect& dialect);

}  // namespace berth
