#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/formats/row_reader.h"

// The types of a column's values, in Parquet's words, which also suffice for Arrow's types. Both
// formats make their cells here. Thread-safe. Only CellMaker throws.
namespace berth::columnar {

// How a value is stored. The numbers are Parquet's.
enum class PhysicalType : uint8_t {
  kBoolean = 0,
  kInt32 = 1,
  kInt64 = 2,
  kInt96 = 3,
  kFloat = 4,
  kDouble = 5,
  kByteArray = 6,
  kFixedByteArray = 7,
};

// What it means.
enum class Meaning : uint8_t {
  kNone,
  kText,  // STRING, ENUM, JSON
  kList,
  kMap,
  kDecimal,
  kDate,
  kTime,
  kTimestamp,
  kInteger,
  kUnknown,  // always null
  kUuid,
  kFloat16,
  kOther,  // BSON, INTERVAL and newer ones
};

enum class TimeUnit : uint8_t { kMillis, kMicros, kNanos, kSeconds };

struct LeafType {
  std::optional<PhysicalType> type;  // empty: no leaf, but a group
  int32_t type_length = 0;           // bytes of a kFixedByteArray
  Meaning meaning = Meaning::kNone;
  int32_t scale = 0;                  // of a kDecimal
  int32_t bit_width = 0;              // of a kInteger
  bool is_signed = true;              // of a kInteger
  TimeUnit unit = TimeUnit::kMillis;  // of a kTime or kTimestamp
  bool is_utc = false;                // of a kTimestamp
};

// Whether the values are bytes of which the schema does not say that they are text.
bool holds_bytes(const LeafType& leaf);

// One value of a leaf, as its physical type holds it.
struct Value {
  int64_t integer = 0;     // kBoolean (0 or 1), kInt32, kInt64
  double real = 0;         // kFloat, kDouble
  std::string_view bytes;  // kByteArray, kFixedByteArray, kInt96; borrowed
  bool is_utf8 = false;    // whether `bytes` are known to be valid UTF-8
};

// Dates and times as pandas prints them, in the proleptic Gregorian calendar. Any number gives a
// text. Fractions of a second have no zeros at their end, and a time of day always has seconds.
std::string date_text(int64_t days);  // since 1970-01-01
std::string time_text(int64_t ticks, TimeUnit unit);
// Since 1970-01-01; with +00:00 if `is_utc`.
std::string timestamp_text(int64_t ticks, TimeUnit unit, bool is_utc);
// The timestamps of INT96: nanoseconds of a day, and the Julian day.
std::string julian_text(int64_t nanoseconds, uint32_t julian_day);

// Turns the values of a leaf into cells, by what the schema says they mean:
//   - text as it is; bytes without a meaning are text where they are valid UTF-8, else missing
//   - integers, also unsigned ones and decimals without a fraction; beyond 64 bits with a sign they
//     become texts of digits, so that two ids stay two
//   - other decimals as doubles
//   - dates and times as pandas prints them: 2024-02-29, 2024-02-29 12:00:00.5, 12:00:00
//   - a UUID in its usual form
//   - integers that stand for the `names` of classes as these names; -1, by which Hugging Face's
//     datasets mark rows without a label, is missing
// Other meanings are missing.
class CellMaker {
 public:
  explicit CellMaker(const LeafType& leaf, std::vector<std::string> names = {});

  // Throws kBadData on text that is not UTF-8 and on an integer that stands for no class. Also
  // throws it if a value's number of bytes is wrong for its meaning.
  void make(const Value& value, Cell& cell) const;
  void append_json(const Value& value, std::string& json) const;

  // The names of classes for which the integers stand; empty: none.
  const std::vector<std::string>& names() const { return names_; }

 private:
  enum class Kind {
    kMissing,
    kBoolean,
    kInteger,
    kUnsigned,
    kClass,
    kReal,
    kHalf,
    kText,
    kBytes,
    kDecimal,
    kDecimalBytes,
    kDate,
    kTime,
    kTimestamp,
    kInt96,
    kUuid,
  };
  static Kind kind_of(const LeafType& leaf, bool has_names);
  static Kind kind_of_bytes(const LeafType& leaf);
  void make_unsigned(int64_t value, Cell& cell) const;
  void make_class(int64_t value, Cell& cell) const;

  const LeafType leaf_;
  const std::vector<std::string> names_;
  const Kind kind_;
};

}  // namespace berth::columnar
