#pragma once

#include <memory>

#include "storage/base/bytes.h"

namespace berth {

// Passes on the bytes of `source`, unless they begin with the byte order mark of UTF-16: then it
// converts them to UTF-8, without the mark. read() throws kBadData, naming the byte, where UTF-16
// is not valid.
std::unique_ptr<ByteSource> as_utf8(std::unique_ptr<ByteSource> source);

}  // namespace berth
