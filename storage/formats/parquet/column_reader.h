#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/formats/parquet/bit_decoders.h"
#include "storage/formats/parquet/parquet_metadata.h"
#include "storage/formats/parquet/schema_tree.h"
#include "storage/formats/parquet/values.h"

namespace berth::parquet {

// Reads one column of a row group, entry by entry. An entry is a value, or says at which level
// there is none; schema_tree.h says what the levels mean. Holds one page in memory. Borrows the
// file and the leaf. Every function throws kCorrupt where a page is damaged or ends too early, and
// what decompress() throws.
class ColumnReader {
 public:
  ColumnReader(RandomAccessSource& file, const SchemaNode& leaf, const ColumnChunk& chunk);

  // Whether an entry is left.
  bool has_next() const { return has_levels_ || left_ > 0; }
  // The values to which the first page refers; empty: it refers to none. They stay valid as long as
  // this object.
  const std::vector<Value>& dictionary();
  // The levels of the entry that is not yet read.
  int32_t repetition() { return peek().repetition; }
  int32_t definition() { return peek().definition; }
  bool is_present() { return definition() == leaf_.definition; }

  // Reads the entry, which has a value. The value stays valid until the next call.
  void read(Value& value);
  // Reads the entry, which must have no value.
  void read_absent();

 private:
  struct Levels {
    int32_t repetition = 0, definition = 0;
  };

  const Levels& peek();
  void next_page();
  void open_dictionary(const PageHeader& header, Bytes content);
  void open_page(const PageHeader& header, Bytes content);
  void open_page_v2(const PageHeader& header, Bytes content);
  Bytes take_levels(Bytes& content, Encoding encoding) const;
  void set_levels(Bytes repetition, Bytes definition);
  Bytes unpacked(Bytes content, uint64_t size, std::vector<std::byte>& buffer) const;

  RandomAccessSource& file_;
  const SchemaNode& leaf_;
  const ColumnChunk chunk_;
  uint64_t left_;                       // entries of the chunk
  uint64_t in_page_ = 0;                // entries that are left of the page
  uint64_t offset_ = 0, released_ = 0;  // in the file: of the next page, and of the current one
  HybridDecoder repetitions_, definitions_;
  Levels levels_;
  bool has_levels_ = false;  // levels_ belong to the next entry
  Encoding encoding_ = Encoding::kPlain;
  Bytes values_;                         // of the page
  std::unique_ptr<ValueReader> reader_;  // of values_; null until a value is read
  std::vector<std::byte> page_, dictionary_page_;
  std::vector<Value> dictionary_;
  bool dictionary_is_utf8_ = false;  // so that its texts are checked once, and not for each row
};

}  // namespace berth::parquet
