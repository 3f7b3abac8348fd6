#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "storage/formats/columnar/cell_maker.h"
#include "storage/formats/parquet/column_reader.h"
#include "storage/formats/parquet/schema_tree.h"
#include "storage/formats/row_reader.h"

namespace berth::parquet {

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
