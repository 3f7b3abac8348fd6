#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/formats/parquet/parquet_metadata.h"

namespace berth::parquet {

// Reads the values of a page in order. `bytes` and `dictionary`, which hold them, must outlive it.
class ValueReader {
 public:
  virtual ~ValueReader() = default;
  // Reads the next value. `value` stays valid until the next call. Throws kCorrupt where the page
  // ends too early.
  virtual void next(Value& value) = 0;
};

// `type_length` is the number of bytes of a kFixedByteArray. `dictionary` holds the values of the
// dictionary page, for the encodings that refer to one. Throws kCorrupt where `bytes` are damaged,
// and where the encoding is none of the type's.
std::unique_ptr<ValueReader> make_value_reader(Encoding encoding, PhysicalType type,
                                               int32_t type_length, Bytes bytes,
                                               const std::vector<Value>& dictionary);

// The values of a dictionary page, in PLAIN encoding. They borrow `bytes`.
std::vector<Value> read_dictionary(PhysicalType type, int32_t type_length, Bytes bytes,
                                   uint32_t count);

}  // namespace berth::parquet
