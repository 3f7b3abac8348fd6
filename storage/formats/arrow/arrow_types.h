#pragma once

#include <cstdint>
#include <optional>

#include "storage/formats/arrow/arrow_schema.h"
#include "storage/formats/arrow/flat_buffer.h"

namespace berth::arrow {

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
