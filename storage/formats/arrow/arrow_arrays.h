#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/formats/arrow/arrow_messages.h"
#include "storage/formats/arrow/arrow_schema.h"
#include "storage/formats/columnar/block_codec.h"
#include "storage/formats/row_reader.h"

namespace berth::arrow {

struct Dictionary;

// The values of a field in one batch. Borrows the field, the batch and the dictionary. The buffers
// are long enough for the length; offsets and sizes inside them are checked by whoever reads them.
struct Array {
  const Field* field = nullptr;
  uint64_t length = 0;
  Bytes validity{};  // a bit for each value, the lowest first; empty: all values are valid
  Bytes offsets{};   // offsets, or 16 bytes for each value of kViews
  Bytes sizes{};     // of list views
  Bytes values{};    // bits, fixed values, texts, or indices of the dictionary
  std::vector<Bytes> blocks{};             // of kViews
  std::vector<Array> children{};           // of the same length, but for lists
  const Dictionary* dictionary = nullptr;  // null: the values are here
};

// The columns of a record batch, with the memory of decompressed buffers.
struct Batch {
  uint64_t rows = 0;
  std::vector<Array> columns{};  // with no field where the column is not wanted
  std::vector<std::vector<std::byte>> buffers{};
};

// The values that indices mean: the values of the first part, then the values of the next one.
struct Dictionary {
  std::vector<Batch> parts{};    // each of one column
  std::vector<uint64_t> ends{};  // of the parts, in values
};

using Dictionaries = std::map<int64_t, Dictionary>;

// Makes the arrays of a record batch (Message.fbs). Buffers that are compressed by LZ4_FRAME or
// ZSTD are decompressed. Throws kCorrupt where a buffer lies outside the body or is too short, and
// what decompress() throws.
class BatchLoader {
 public:
  // Borrows the dictionaries, of which there must be one for each field that has one. They may be
  // filled later.
  explicit BatchLoader(const Dictionaries& dictionaries) : dictionaries_(dictionaries) {}

  // `is_wanted` says which fields are loaded.
  Batch load(const FlatTable& record_batch, Bytes body, const std::vector<const Field*>& fields,
             const std::vector<bool>& is_wanted);
  // The values of a dictionary, of the type of `field`.
  Batch load_dictionary(const FlatTable& record_batch, Bytes body, const Field& field);

 private:
  void open(const FlatTable& record_batch, Bytes body, Batch& batch);
  void require_end() const;
  Array array(const Field& field, bool is_decoded, bool is_wanted);
  void load_values(Array& array, bool is_wanted);
  void load_children(Array& array, bool is_wanted);
  void load_views(Array& array, bool is_wanted);
  Bytes next_buffer(bool is_wanted);
  Bytes next_buffer(bool is_wanted, uint64_t count, uint64_t width);
  Bytes unpacked(Bytes bytes);

  const Dictionaries& dictionaries_;
  FlatVector nodes_, buffers_, block_counts_;
  size_t next_node_ = 0, next_buffer_ = 0, next_count_ = 0;
  columnar::Codec codec_ = columnar::Codec::kUncompressed;
  Bytes body_;
  Batch* batch_ = nullptr;
};

// Turns the values of arrays into cells, as columnar/cell_maker.h says. A list, a map or a struct
// becomes JSON text. Each function throws kCorrupt where an offset leads outside its buffer, what
// CellMaker throws, and kBadData where JSON text exceeds 64 MiB.
class ArrowCells {
 public:
  // `row` is less than the length of the array.
  void make(const Array& array, uint64_t row, Cell& cell);

 private:
  // The array and the place at which the value lies; the array is null where there is no value.
  struct Place {
    const Array* array = nullptr;
    uint64_t row = 0;
  };
  static Place find(const Array& array, uint64_t row);
  void append(const Array& array, uint64_t row, int depth, std::string& json);
  void append_list(const Array& array, uint64_t row, int depth, std::string& json);
  void append_members(const Array& array, uint64_t row, int depth, std::string& json);
  void read(const Array& array, uint64_t row);

  columnar::Value value_;
  std::string json_, reversed_;
};

}  // namespace berth::arrow
