#pragma once

#include <memory>

#include "storage/base/bytes.h"

namespace berth {

// Copies a stream into an unnamed temporary file in TMPDIR, for formats that are not read from the
// beginning to the end. The result has a view(). Throws what SpillFile and the stream throw.
std::unique_ptr<RandomAccessSource> spill(ByteSource& source);

}  // namespace berth
