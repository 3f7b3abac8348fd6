#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

// What the values of a column are, in Parquet's words, which are also enough for Arrow's types.
// Both formats turn values into cells in the same way: cell_maker.h.
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

// One value of a leaf, as its physical type holds it.
struct Value {
  int64_t integer = 0;     // kBoolean (0 or 1), kInt32, kInt64
  double real = 0;         // kFloat, kDouble
  std::string_view bytes;  // kByteArray, kFixedByteArray, kInt96; borrowed
  bool is_utf8 = false;    // whether `bytes` are known to be valid UTF-8
};

}  // namespace berth::columnar
