#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "storage/formats/parquet/parquet_metadata.h"

namespace berth::parquet {

// A node of the schema with what is below it. A group without children is a leaf of no values.
//
// The levels are defined in Melnik et al. 2010, "Dremel". The definition level of a value counts
// the optional and repeated nodes above it that are present. The repetition level says at which
// repeated node a new element begins.
struct SchemaNode {
  SchemaElement element;
  int32_t definition = 0;  // the level at which this node is present
  int32_t repetition = 0;  // the number of repeated nodes down to and with this one
  size_t first_leaf = 0, leaves = 0;
  std::vector<SchemaNode> children;

  bool is_leaf() const { return element.type.has_value(); }
};

// Makes the tree of the columns from the elements of a file's metadata. Throws kCorrupt where they
// are no tree, and kBadData where the tree is deeper than any JSON text that berth reads.
std::vector<SchemaNode> make_columns(std::span<const SchemaElement> schema);

// The leaves below `columns`, in order. Borrows them.
std::vector<const SchemaNode*> leaves_of(std::span<const SchemaNode> columns);

}  // namespace berth::parquet
