#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "storage/base/bytes.h"

// Files of vectors. A writer throws what its sink throws.
namespace berth {

// How the numbers of vectors are stored. Numbers of eight bits are whole numbers in their range.
enum class VectorNumbers { kFloat32, kInt8, kUint8 };

// What a file of vectors holds, known before the first one is written.
struct VectorTable {
  uint64_t rows = 0;
  size_t width = 0;      // numbers of each vector
  bool has_ids = false;  // rows have ids that are texts; else their numbers are their ids
  VectorNumbers numbers = VectorNumbers::kFloat32;
};

struct VectorRow {
  uint64_t number = 0;    // of the row in its source
  std::string_view id{};  // empty: it is known by its number
  std::span<const float> vector;
};

// Writes a file of vectors as a stream, one row after another. Closes no sink. Not thread-safe.
class VectorWriter {
 public:
  virtual ~VectorWriter() = default;

  virtual void add(const VectorRow& row) = 0;
  // Writes what follows the last row. Called once, after as many rows as were announced.
  virtual void finish() {}
};

// All borrow the sink.

// A NumPy file, version 1.0 (numpy.lib.format): [rows, width] in C order, of float32, int8 or
// uint8. It has no ids.
std::unique_ptr<VectorWriter> make_npy_writer(ByteSink& sink, const VectorTable& table);

// A JSON object on each line: {"id": "a", "embedding": [0.5, ...]}. Numbers have as few digits as
// give the same float again. An id that is not valid UTF-8 is repaired with U+FFFD.
std::unique_ptr<VectorWriter> make_vector_lines_writer(ByteSink& sink, const VectorTable& table);

// A Parquet file with the columns id (a string, or an int64) and embedding (a list of floats).
// Takes kFloat32 only. Pages are PLAIN and not compressed, because floats hardly shrink. Holds the
// rows of one row group in memory, about 16 MiB.
std::unique_ptr<VectorWriter> make_vector_table_writer(ByteSink& sink, const VectorTable& table);

}  // namespace berth
