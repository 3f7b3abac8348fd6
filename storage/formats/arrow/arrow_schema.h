#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/formats/arrow/arrow_messages.h"
#include "storage/formats/columnar/cell_maker.h"

// The schema of an Arrow file or stream (apache/arrow, format/Schema.fbs). Thread-safe once read.
namespace berth::arrow {

// The buffers that an array of a field has, besides the validity bits that most have.
enum class Layout : uint8_t {
  kNothing,     // no buffers and no validity: every value is null
  kBits,        // a bit for each value
  kFixed,       // `width` bytes for each value
  kTexts32,     // offsets of 32 bits, and bytes
  kTexts64,     // offsets of 64 bits, and bytes
  kViews,       // 16 bytes that hold a text or say where it lies, and any number of blocks of bytes
  kList32,      // offsets of 32 bits into the child
  kList64,      // offsets of 64 bits
  kListView32,  // offsets and sizes of 32 bits
  kListView64,  // offsets and sizes of 64 bits
  kFixedList,   // nothing; `list_size` elements of the child for each value
  kStruct,      // nothing; one element of each child for each value
  kUnion,       // numbers of types; no validity
  kDenseUnion,  // the same, and offsets
  kRuns,        // no buffers and no validity; two children
};

// Where the values lie in a dictionary that the file has under `id`.
struct DictionaryKey {
  int64_t id = 0;
  size_t width = 4;  // of an index, in bytes
  bool is_signed = true;
};

struct Field {
  std::string name;
  Layout layout = Layout::kNothing;
  columnar::LeafType leaf{};  // of a leaf
  size_t width = 0;           // of a value of kFixed, in bytes
  int64_t list_size = 0;
  int64_t ticks_of_day = 0;  // of dates that are ticks and not days; otherwise 0
  std::optional<DictionaryKey> dictionary{};
  std::vector<Field> children{};
  std::optional<columnar::CellMaker> maker{};  // of a leaf
  std::string_view unreadable{};  // what it holds, where that has no form as cells: "unions"
};

struct Schema {
  std::vector<Field> fields;
  std::string pandas, hugging_face;  // the metadata of these names, JSON; empty: none
};

// Throws kCorrupt if the schema is damaged. Throws kBadData on another byte order and on a type
// that this reader does not know. Also throws it on deeper nesting than berth reads in JSON. If the
// metadata of `datasets` have class names for a column, its integers become these names.
Schema read_schema(const FlatTable& schema, size_t metadata_size);

// What the field, or a field inside it, holds that has no form as cells; empty: nothing.
std::string_view unreadable_part(const Field& field);

// The names of the columns of a Parquet file that hold durations, also inside of lists and structs.
// In Parquet they are integers. `message`: the schema that a program of Arrow has kept in the
// file's metadata, in base64. Throws nothing: a damaged one gives no names.
std::vector<std::string> duration_columns(const std::string& message);

// The fields at any depth whose values lie in dictionaries, by the dictionary's id.
std::map<int64_t, const Field*> dictionary_fields(const Schema& schema);

// The union Type of Schema.fbs.
enum class TypeId : uint8_t {
  kNone = 0,
  kNull = 1,
  kInt = 2,
  kFloatingPoint = 3,
  kBinary = 4,
  kUtf8 = 5,
  kBool = 6,
  kDecimal = 7,
  kDate = 8,
  kTime = 9,
  kTimestamp = 10,
  kInterval = 11,
  kList = 12,
  kStruct = 13,
  kUnion = 14,
  kFixedSizeBinary = 15,
  kFixedSizeList = 16,
  kMap = 17,
  kDuration = 18,
  kLargeBinary = 19,
  kLargeUtf8 = 20,
  kLargeList = 21,
  kRunEndEncoded = 22,
  kBinaryView = 23,
  kUtf8View = 24,
  kListView = 25,
  kLargeListView = 26,
};

// Sets what a field's type says of its layout and its values. `type` is the table of the type's
// parameters. The values are what they would be in a Parquet file: durations are integers, for
// example. Intervals, unions and run-end encoded values have no such form. Throws
// kCorrupt where parameters contradict the format, and kBadData for a type that is newer than this
// reader.
void set_type(TypeId id, const std::optional<FlatTable>& type, Field& field);

}  // namespace berth::arrow
