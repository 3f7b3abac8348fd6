#pragma once

#include <memory>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/formats/row_reader.h"

namespace berth {

// A pandas DataFrame or Series pickled by Python (protocols 0-5, pandas 0.20 to 3.x): an opcode
// reader that builds tables. Nothing is imported or executed: each global must be one of a fixed
// list of (module, name) pairs, which stand for inert nodes; any other is kBadData, naming it.
// Damage is kCorrupt, naming the byte offset. Memory is bounded by a small multiple of the pickle's
// size. A list of dicts or a dict of lists is a table too. Columns that hold neither text nor
// numbers read as missing. Borrows nothing.
std::unique_ptr<RowReader> read_pickle(Bytes pickle);
std::unique_ptr<RowReader> read_pickle(std::vector<std::byte> pickle);  // without a copy

}  // namespace berth
