#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/formats/columnar/block_codec.h"
#include "storage/formats/columnar/cell_maker.h"

// The metadata of a Parquet file (github.com/apache/parquet-format, parquet.thrift) that reading
// rows needs. The enumerations have the values of the format.
namespace berth::parquet {

using namespace columnar;

enum class Repetition : uint8_t { kRequired = 0, kOptional = 1, kRepeated = 2 };

enum class Encoding : uint8_t {
  kPlain = 0,
  kPlainDictionary = 2,
  kRle = 3,
  kBitPacked = 4,
  kDeltaBinaryPacked = 5,
  kDeltaLengthByteArray = 6,
  kDeltaByteArray = 7,
  kRleDictionary = 8,
  kByteStreamSplit = 9,
};

// One node of the schema; the nodes stand in the order of a walk that visits parents first.
struct SchemaElement : LeafType {
  std::string name;
  Repetition repetition = Repetition::kRequired;
  int32_t children = 0;
};

struct ColumnChunk {
  PhysicalType type = PhysicalType::kBoolean;
  Codec codec = Codec::kUncompressed;
  int64_t values = 0;
  int64_t begin = 0, size = 0;  // of its pages, in bytes of the file
};

struct RowGroup {
  std::vector<ColumnChunk> columns;  // one for each leaf of the schema
  int64_t rows = 0;
};

struct FileMetadata {
  std::vector<SchemaElement> schema;  // the first one is the root
  std::vector<RowGroup> row_groups;
  int64_t rows = 0;
  std::string pandas;        // the key-value metadata "pandas", JSON; empty: none
  std::string hugging_face;  // the same of "huggingface"
  std::string arrow_schema;  // what Arrow's programs add: a message with a schema, in base64
  std::string spark;         // the same of Spark, JSON
};

// Reads the metadata at the end of `file`. Checks that each column chunk lies inside the file, and
// that each leaf has one. Throws kCorrupt, naming the byte, if the file is damaged, and kBadData if
// it is encrypted.
FileMetadata read_metadata(Bytes file);

enum class PageType : uint8_t { kData = 0, kIndex = 1, kDictionary = 2, kDataV2 = 3 };

struct PageHeader {
  PageType type = PageType::kData;
  uint32_t uncompressed_size = 0, compressed_size = 0;
  std::optional<uint32_t> crc32{};  // of the page as it lies in the file
  uint32_t values = 0;              // nulls included
  Encoding encoding = Encoding::kPlain;
  // For kData:
  Encoding definition_encoding = Encoding::kRle, repetition_encoding = Encoding::kRle;
  // For kDataV2, whose levels are never compressed:
  uint32_t definition_size = 0, repetition_size = 0;
  bool is_compressed = true;
};

// Reads the header at the start of `bytes`, and sets `size` to the bytes that it takes. Throws
// kCorrupt.
PageHeader read_page_header(Bytes bytes, size_t& size);

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
