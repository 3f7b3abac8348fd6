#pragma once

#include <memory>

#include "storage/base/bytes.h"

namespace berth {

// TFRecords as they are, or out of gzip: TensorFlow's writer compresses whatever the file's name.
std::unique_ptr<ByteSource> plain_records(std::unique_ptr<ByteSource> stored);

}  // namespace berth
