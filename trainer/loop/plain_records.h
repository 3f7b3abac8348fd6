#pragma once

#include <memory>

#include "storage/base/bytes.h"

namespace berth {

// Decompresses TFRecords if their content is gzip. TensorFlow's writer may compress a file whatever
// its name is.
std::unique_ptr<ByteSource> plain_records(std::unique_ptr<ByteSource> stored);

}  // namespace berth
