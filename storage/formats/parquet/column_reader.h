#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/formats/columnar/cell_maker.h"
#include "storage/formats/parquet/parquet_metadata.h"
#include "storage/formats/parquet/values.h"
#include "storage/formats/row_reader.h"

namespace berth::parquet {

// Reads one column of a row group, entry by entry. An entry is a value, or says at which level
// there is none; parquet_metadata.h says what the levels mean. Holds one page in memory. Borrows the
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

// Puts the cells of one column of a table together, from the leaves below it (Melnik et al. 2010).
// A leaf that is not repeated gives its values. Any other column gives JSON text: lists, maps and
// repeated nodes are arrays, and other groups are objects. Borrows the column.
class ColumnAssembly {
 public:
  // `names` are the names of the classes for which integers stand; empty if the integers are
  // numbers.
  ColumnAssembly(const SchemaNode& column, std::vector<std::string> names);

  // Begins with the rows of a row group. Borrows the file.
  void open(RandomAccessSource& file, const RowGroup& group);
  // The texts of the dictionary with which a row group begins, where the column is a leaf of texts
  // that has one.
  std::vector<std::string> dictionary(RandomAccessSource& file, const RowGroup& group) const;
  // Reads the cell of the next row. Throws kCorrupt where the leaves of the column contradict each
  // other, kBadData where JSON text exceeds 64 MiB, and what CellMaker and ColumnReader throw.
  void next(Cell& cell);
  // Throws kCorrupt if the row group has more values after its last row.
  void require_end() const;

 private:
  ColumnReader& first_leaf(const SchemaNode& node) { return *readers_[index_of(node)]; }
  size_t index_of(const SchemaNode& node) const { return node.first_leaf - column_.first_leaf; }
  bool is_present(const SchemaNode& node);
  bool continues(const SchemaNode& node);
  void skip_absent(const SchemaNode& node);
  // `append` is for a node that may be absent, `append_present` for one that is not.
  void append(const SchemaNode& node, std::string& json);
  void append_present(const SchemaNode& node, std::string& json);
  void append_elements(const SchemaNode& repeated, const SchemaNode* element, std::string& json);
  void append_members(const SchemaNode& group, std::string& json);

  const SchemaNode& column_;
  std::vector<CellMaker> makers_;  // one for each leaf
  std::vector<std::unique_ptr<ColumnReader>> readers_;
  Value value_;
  std::string json_;
};

}  // namespace berth::parquet
