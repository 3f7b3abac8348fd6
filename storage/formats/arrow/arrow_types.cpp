#include "storage/formats/arrow/arrow_types.h"

#include <limits>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/formats/damage.h"

namespace berth::arrow {
namespace {

using columnar::Meaning;
using columnar::PhysicalType;
using columnar::TimeUnit;

[[noreturn]] void fail_type(const Field& field, const char* what, int64_t value) {
  fail_damaged(cat("a field ", quoted(field.name), " of ", what, " ", value));
}

TimeUnit unit_of(int16_t unit, const Field& field) {
  constexpr TimeUnit kUnits[] = {TimeUnit::kSeconds, TimeUnit::kMillis, TimeUnit::kMicros,
                                 TimeUnit::kNanos};
  if (unit < 0 || unit > 3) fail_type(field, "time unit", unit);
  return kUnits[unit];
}

void set_integer(size_t width, bool is_signed, Meaning meaning, Field& field) {
  field.layout = Layout::kFixed;
  field.width = width;
  field.leaf.type = width == 8 ? PhysicalType::kInt64 : PhysicalType::kInt32;
  field.leaf.meaning = meaning;
  field.leaf.bit_width = static_cast<int32_t>(8 * width);
  field.leaf.is_signed = is_signed;
}

void set_int(const FlatTable& type, Field& field) {
  const auto bits = type.number<int32_t>(0, 0);
  if (bits != 8 && bits != 16 && bits != 32 && bits != 64)
    fail_type(field, "integers of bits", bits);
  set_integer(static_cast<size_t>(bits) / 8, type.boolean(1), Meaning::kInteger, field);
}

void set_float(const FlatTable& type, Field& field) {
  const auto precision = type.number<int16_t>(0, 0);
  if (precision < 0 || precision > 2)
    fail_type(field, "floating point numbers of precision", precision);
  field.layout = Layout::kFixed;
  field.width = size_t{2} << precision;
  if (precision > 0) {
    field.leaf.type = precision == 1 ? PhysicalType::kFloat : PhysicalType::kDouble;
  } else {
    field.leaf.type = PhysicalType::kFixedByteArray;
    field.leaf.meaning = Meaning::kFloat16;
  }
}

void set_bytes(Layout layout, bool is_text, Field& field) {
  field.layout = layout;
  field.leaf.type = PhysicalType::kByteArray;
  field.leaf.meaning = is_text ? Meaning::kText : Meaning::kNone;
}

void set_decimal(const FlatTable& type, Field& field) {
  const auto bits = type.number<int32_t>(2, 128);
  field.leaf.scale = type.number<int32_t>(1, 0);
  if (bits == 32 || bits == 64) {
    return set_integer(static_cast<size_t>(bits) / 8, true, Meaning::kDecimal, field);
  }
  if (bits != 128 && bits != 256) fail_type(field, "decimals of bits", bits);
  field.layout = Layout::kFixed;
  field.width = static_cast<size_t>(bits) / 8;
  field.leaf.type = PhysicalType::kFixedByteArray;
  field.leaf.meaning = Meaning::kDecimal;
}

void set_date(const FlatTable& type, Field& field) {
  const auto unit = type.number<int16_t>(0, 1);
  if (unit != 0 && unit != 1) fail_type(field, "date unit", unit);
  set_integer(unit == 0 ? 4 : 8, true, Meaning::kDate, field);
  if (unit == 1) field.ticks_of_day = 86'400'000;
}

void set_time(const FlatTable& type, Field& field) {
  const auto bits = type.number<int32_t>(1, 32);
  if (bits != 32 && bits != 64) fail_type(field, "times of bits", bits);
  set_integer(static_cast<size_t>(bits) / 8, true, Meaning::kTime, field);
  field.leaf.unit = unit_of(type.number<int16_t>(0, 1), field);
}

void set_timestamp(const FlatTable& type, Field& field) {
  set_integer(8, true, Meaning::kTimestamp, field);
  field.leaf.unit = unit_of(type.number<int16_t>(0, 0), field);
  field.leaf.is_utc = !type.text(1).empty();
}

// Values that have no form as text.
void set_missing(Layout layout, size_t width, Field& field) {
  field.layout = layout;
  field.width = width;
  field.leaf.type = PhysicalType::kInt32;
  field.leaf.meaning = Meaning::kUnknown;
}

void set_interval(const FlatTable& type, Field& field) {
  const auto unit = type.number<int16_t>(0, 0);
  if (unit < 0 || unit > 2) fail_type(field, "interval unit", unit);
  set_missing(Layout::kFixed, unit == 0 ? 4 : unit == 1 ? 8 : 16, field);
  field.unreadable = "intervals";
}

void set_fixed_bytes(const FlatTable& type, Field& field) {
  const auto width = type.number<int32_t>(0, 0);
  if (width < 0) fail_type(field, "bytes of width", width);
  field.layout = Layout::kFixed;
  field.width = static_cast<size_t>(width);
  field.leaf.type = PhysicalType::kFixedByteArray;
  field.leaf.type_length = width;
}

void set_fixed_list(const FlatTable& type, Field& field) {
  field.layout = Layout::kFixedList;
  field.list_size = type.number<int32_t>(0, 0);
  if (field.list_size < 0) fail_type(field, "lists of size", field.list_size);
}

}  // namespace

void set_type(TypeId id, const std::optional<FlatTable>& type, Field& field) {
  if (!type) fail_damaged(cat("a field ", quoted(field.name), " without a type"));
  switch (id) {
    case TypeId::kNone:
      break;
    case TypeId::kNull:
      return set_missing(Layout::kNothing, 0, field);
    case TypeId::kInt:
      return set_int(*type, field);
    case TypeId::kFloatingPoint:
      return set_float(*type, field);
    case TypeId::kBinary:
    case TypeId::kUtf8:
      return set_bytes(Layout::kTexts32, id == TypeId::kUtf8, field);
    case TypeId::kLargeBinary:
    case TypeId::kLargeUtf8:
      return set_bytes(Layout::kTexts64, id == TypeId::kLargeUtf8, field);
    case TypeId::kBinaryView:
    case TypeId::kUtf8View:
      return set_bytes(Layout::kViews, id == TypeId::kUtf8View, field);
    case TypeId::kBool:
      field.layout = Layout::kBits;
      field.leaf.type = PhysicalType::kBoolean;
      return;
    case TypeId::kDecimal:
      return set_decimal(*type, field);
    case TypeId::kDate:
      return set_date(*type, field);
    case TypeId::kTime:
      return set_time(*type, field);
    case TypeId::kTimestamp:
      return set_timestamp(*type, field);
    case TypeId::kInterval:
      return set_interval(*type, field);
    case TypeId::kDuration:
      return set_integer(8, true, Meaning::kInteger, field);
    case TypeId::kFixedSizeBinary:
      return set_fixed_bytes(*type, field);
    case TypeId::kList:
    case TypeId::kMap:
      field.layout = Layout::kList32;
      return;
    case TypeId::kLargeList:
      field.layout = Layout::kList64;
      return;
    case TypeId::kListView:
      field.layout = Layout::kListView32;
      return;
    case TypeId::kLargeListView:
      field.layout = Layout::kListView64;
      return;
    case TypeId::kFixedSizeList:
      return set_fixed_list(*type, field);
    case TypeId::kStruct:
      field.layout = Layout::kStruct;
      return;
    case TypeId::kUnion:
      field.layout = type->number<int16_t>(0, 0) == 0 ? Layout::kUnion : Layout::kDenseUnion;
      field.unreadable = "unions";
      return;
    case TypeId::kRunEndEncoded:
      field.layout = Layout::kRuns;
      field.unreadable = "run-end encoded values";
      return;
  }
  throw Error(Code::kBadData,
              cat("the column ", quoted(field.name), " has type ", static_cast<int>(id),
                  ", which berth does not know"),
              "", "leave the column out, or write the table as Parquet");
}

}  // namespace berth::arrow
