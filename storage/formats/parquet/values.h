#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/formats/parquet/parquet_metadata.h"

// The encodings of Parquet's values and levels. A reader belongs to one thread. Damage is kCorrupt.
namespace berth::parquet {

// Reads unsigned numbers of `bit_width` bits, at most 64, least significant bit first.
class BitReader {
 public:
  BitReader(Bytes bytes, int bit_width);

  // Throws kCorrupt where the bytes end.
  uint64_t next();

 private:
  Bytes bytes_;
  int bit_width_;
  uint64_t bit_ = 0;  // where the next number begins
};

// Reads the hybrid of runs and packed bits that holds levels, indices of dictionaries and booleans:
//
//   varint header | even: header / 2 times the value in the next (bit_width + 7) / 8 bytes
//                 | odd: header / 2 groups of 8 values of bit_width bits
//
// `bytes` must outlive it. Throws kCorrupt where they end too early, or where `bit_width` is above
// 32.
class HybridDecoder {
 public:
  HybridDecoder() = default;
  HybridDecoder(Bytes bytes, int bit_width);

  uint32_t next() {
    if (place_ == filled_) fill();
    return values_[place_++];
  }

 private:
  void fill();
  void read_header();
  void unpack(uint64_t count);

  static constexpr size_t kBuffered = 256;
  Cursor cursor_{Bytes()};
  int bit_width_ = 0;
  uint64_t run_ = 0;     // how many times run_value_ still comes
  uint64_t packed_ = 0;  // how many packed values still come
  uint32_t run_value_ = 0;
  size_t place_ = 0, filled_ = 0;
  uint32_t values_[kBuffered];
};

// Decodes DELTA_BINARY_PACKED, in arithmetic modulo 2^64:
//
//   varint block size | varint miniblocks in a block | varint count | zigzag first value
//   blocks: zigzag smallest delta | a byte with the bit width of each miniblock | packed deltas
//
// `bytes`, which other values may follow, must outlive it. Throws kCorrupt where they end too
// early.
class DeltaDecoder {
 public:
  DeltaDecoder() = default;
  explicit DeltaDecoder(Bytes bytes);

  uint64_t count() const { return count_; }
  // The next value, of count() ones.
  int64_t next();
  // Reads all that is left, and returns the number of bytes that all values take.
  size_t skip_to_end();

 private:
  void next_miniblock();

  Cursor cursor_{Bytes()};
  uint64_t count_ = 0, read_ = 0;
  uint64_t in_miniblock_ = 0, miniblocks_ = 0;
  uint64_t last_ = 0, smallest_ = 0;
  Bytes widths_;       // of the miniblocks that are left of the block
  uint64_t left_ = 0;  // values that are left of the miniblock
  BitReader deltas_{Bytes(), 0};
};

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
