#include "storage/formats/columnar/cell_maker.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "storage/base/dtype.h"
#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "storage/base/utf8.h"

namespace berth::columnar {
namespace {

int64_t floor_divide(int64_t number, int64_t by) {
  return number / by - (number % by != 0 && number < 0);
}

// What floor_divide() leaves: in [0, by).
int64_t floor_remainder(int64_t number, int64_t by) {
  const int64_t rest = number % by;
  return rest < 0 ? rest + by : rest;
}

int64_t ticks_per_second(TimeUnit unit) {
  switch (unit) {
    case TimeUnit::kSeconds:
      return 1;
    case TimeUnit::kMillis:
      return 1'000;
    case TimeUnit::kMicros:
      return 1'000'000;
    case TimeUnit::kNanos:
      return 1'000'000'000;
  }
  return 1;
}

// `fraction` is a number of ticks, less than the ticks of a second.
std::string time_of_day(int64_t seconds, int64_t fraction, TimeUnit unit) {
  std::string text =
      formatted("%02lld:%02lld:%02lld", static_cast<long long>(seconds / 3600),
                static_cast<long long>(seconds / 60 % 60), static_cast<long long>(seconds % 60));
  if (fraction == 0) return text;
  std::string digits = std::to_string(ticks_per_second(unit) + fraction);  // 1 and all digits
  digits.front() = '.';
  digits.erase(digits.find_last_not_of('0') + 1);
  return text + digits;
}

std::string moment_text(int64_t days, int64_t seconds, int64_t fraction, TimeUnit unit) {
  return date_text(days) + " " + time_of_day(seconds, fraction, unit);
}

constexpr int64_t kSecondsOfDay = 86'400;

}  // namespace

// Days outside the years that the standard library knows are printed as the number they are.
std::string date_text(int64_t days) {
  using namespace std::chrono;
  constexpr int64_t kFirst = sys_days(year::min() / January / 1).time_since_epoch().count();
  constexpr int64_t kLast = sys_days(year::max() / December / 31).time_since_epoch().count();
  if (days < kFirst || days > kLast) return std::to_string(days);
  const year_month_day date(sys_days(std::chrono::days(static_cast<int>(days))));
  return formatted("%04d-%02u-%02u", static_cast<int>(date.year()),
                   static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
}

std::string time_text(int64_t ticks, TimeUnit unit) {
  const int64_t per_second = ticks_per_second(unit);
  const int64_t seconds = floor_divide(ticks, per_second);
  return time_of_day(floor_remainder(seconds, kSecondsOfDay), floor_remainder(ticks, per_second),
                     unit);
}

std::string timestamp_text(int64_t ticks, TimeUnit unit, bool is_utc) {
  const int64_t per_second = ticks_per_second(unit);
  const int64_t seconds = floor_divide(ticks, per_second);
  const int64_t days = floor_divide(seconds, kSecondsOfDay);
  return moment_text(days, floor_remainder(seconds, kSecondsOfDay),
                     floor_remainder(ticks, per_second), unit) +
         (is_utc ? "+00:00" : "");
}

std::string julian_text(int64_t nanoseconds, uint32_t julian_day) {
  constexpr int64_t kJulianDayOf1970 = 2'440'588;
  constexpr int64_t kPerSecond = 1'000'000'000, kPerDay = kPerSecond * kSecondsOfDay;
  const int64_t more_days = floor_divide(nanoseconds, kPerDay);
  const int64_t of_day = floor_remainder(nanoseconds, kPerDay);
  return moment_text(int64_t{julian_day} - kJulianDayOf1970 + more_days, of_day / kPerSecond,
                     of_day % kPerSecond, TimeUnit::kNanos);
}

namespace {

void set_text(std::string_view text, Cell& cell) {
  if (auto* const old = std::get_if<std::string>(&cell)) {
    old->assign(text);  // reuses its memory
  } else {
    cell.emplace<std::string>(text);
  }
}

std::optional<size_t> invalid_utf8(const Value& value) {
  return value.is_utf8 ? std::nullopt : find_invalid_utf8(value.bytes);
}

void set_real(double real, Cell& cell) {
  if (std::isnan(real)) {
    cell = std::monostate();
  } else {
    cell = real;
  }
}

void require_bytes(std::string_view bytes, size_t count) {
  if (bytes.size() == count) return;
  throw Error(Code::kBadData, cat("a value of ", bytes.size(), " bytes in place of ", count));
}

template <typename T>
T little_endian(std::string_view bytes) {
  T number;
  std::memcpy(&number, bytes.data(), sizeof(number));
  return number;
}

// A two's complement number, most significant byte first, as decimal digits.
std::string big_endian_digits(std::string_view bytes) {
  const bool is_negative = !bytes.empty() && static_cast<signed char>(bytes.front()) < 0;
  std::string digits = "0";  // the last digit first
  for (const char byte : bytes) {
    int carry = static_cast<unsigned char>(byte) ^ (is_negative ? 0xFF : 0);  // of -1 - x
    for (char& digit : digits) {
      carry += (digit - '0') * 256;
      digit = static_cast<char>('0' + carry % 10);
      carry /= 10;
    }
    for (; carry > 0; carry /= 10) digits += static_cast<char>('0' + carry % 10);
  }
  if (is_negative) {
    size_t at = 0;
    for (; at < digits.size() && digits[at] == '9'; ++at) digits[at] = '0';
    if (at == digits.size()) digits += '0';
    ++digits[at];
    digits += '-';
  }
  std::reverse(digits.begin(), digits.end());
  return digits;
}

// A whole number, which no program takes for a fraction: ids of decimal(38, 0) keep their digits.
void set_whole(std::string_view bytes, Cell& cell) {
  const std::string digits = big_endian_digits(bytes);
  int64_t number = 0;
  const char* const end = digits.data() + digits.size();
  if (std::from_chars(digits.data(), end, number).ec == std::errc()) {
    cell = number;
  } else {
    set_text(digits, cell);
  }
}

// A two's complement number, most significant byte first.
double big_endian_number(std::string_view bytes) {
  const bool is_negative = !bytes.empty() && static_cast<signed char>(bytes.front()) < 0;
  const unsigned flip = is_negative ? 0xFF : 0;  // -1 - x has the flipped bits of x
  double number = 0;
  for (const char byte : bytes) number = number * 256 + (static_cast<unsigned char>(byte) ^ flip);
  return is_negative ? -1 - number : number;
}

std::string uuid_text(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    const auto byte = static_cast<unsigned char>(bytes[i]);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace

CellMaker::CellMaker(const LeafType& leaf, std::vector<std::string> names)
    : leaf_(leaf), names_(std::move(names)), kind_(kind_of(leaf, !names_.empty())) {}

bool holds_bytes(const LeafType& leaf) {
  return leaf.meaning == Meaning::kNone &&
         (leaf.type == PhysicalType::kByteArray || leaf.type == PhysicalType::kFixedByteArray);
}

CellMaker::Kind CellMaker::kind_of_bytes(const LeafType& leaf) {
  switch (leaf.meaning) {
    case Meaning::kNone:
      return Kind::kBytes;
    case Meaning::kText:
      return Kind::kText;
    case Meaning::kDecimal:
      return Kind::kDecimalBytes;
    case Meaning::kUuid:
      return Kind::kUuid;
    case Meaning::kFloat16:
      return Kind::kHalf;
    default:
      return Kind::kMissing;
  }
}

CellMaker::Kind CellMaker::kind_of(const LeafType& leaf, bool has_names) {
  if (leaf.meaning == Meaning::kUnknown) return Kind::kMissing;
  switch (*leaf.type) {
    case PhysicalType::kBoolean:
      return Kind::kBoolean;
    case PhysicalType::kInt32:
    case PhysicalType::kInt64:
      switch (leaf.meaning) {
        case Meaning::kDecimal:
          return Kind::kDecimal;
        case Meaning::kDate:
          return Kind::kDate;
        case Meaning::kTime:
          return Kind::kTime;
        case Meaning::kTimestamp:
          return Kind::kTimestamp;
        default:
          if (has_names) return Kind::kClass;
          return leaf.is_signed ? Kind::kInteger : Kind::kUnsigned;
      }
    case PhysicalType::kInt96:
      return Kind::kInt96;
    case PhysicalType::kFloat:
    case PhysicalType::kDouble:
      return Kind::kReal;
    case PhysicalType::kByteArray:
    case PhysicalType::kFixedByteArray:
      return kind_of_bytes(leaf);
  }
  return Kind::kMissing;
}

// Narrow unsigned numbers lie in the low bits of a signed one.
void CellMaker::make_unsigned(int64_t value, Cell& cell) const {
  const bool is_32 = leaf_.type == PhysicalType::kInt32;
  const uint64_t number = is_32 ? static_cast<uint32_t>(value) : static_cast<uint64_t>(value);
  if (number > INT64_MAX) {
    set_text(std::to_string(number), cell);
  } else {
    cell = static_cast<int64_t>(number);
  }
}

void CellMaker::make_class(int64_t value, Cell& cell) const {
  if (value == -1) {
    cell = std::monostate();
  } else if (value < 0 || static_cast<uint64_t>(value) >= names_.size()) {
    throw Error(Code::kBadData,
                cat("class ", value, ", where the file names ", names_.size(), " classes"));
  } else {
    set_text(names_[static_cast<size_t>(value)], cell);
  }
}

void CellMaker::make(const Value& value, Cell& cell) const {
  switch (kind_) {
    case Kind::kMissing:
      cell = std::monostate();
      return;
    case Kind::kBoolean:
      cell = value.integer != 0;
      return;
    case Kind::kInteger:
      cell = value.integer;
      return;
    case Kind::kUnsigned:
      return make_unsigned(value.integer, cell);
    case Kind::kClass:
      return make_class(value.integer, cell);
    case Kind::kReal:
      return set_real(value.real, cell);
    case Kind::kHalf:
      require_bytes(value.bytes, 2);
      return set_real(from_f16(little_endian<uint16_t>(value.bytes)), cell);
    case Kind::kText:
      if (const auto invalid = invalid_utf8(value)) {
        throw Error(Code::kBadData, cat("is not UTF-8 from byte ", *invalid, " on"));
      }
      return set_text(value.bytes, cell);
    case Kind::kBytes:
      if (invalid_utf8(value)) {
        cell = std::monostate();
      } else {
        set_text(value.bytes, cell);
      }
      return;
    case Kind::kDecimal:
      if (leaf_.scale == 0) {
        cell = value.integer;
        return;
      }
      cell = static_cast<double>(value.integer) * std::pow(10.0, -leaf_.scale);
      return;
    case Kind::kDecimalBytes:
      if (leaf_.scale == 0) return set_whole(value.bytes, cell);
      cell = big_endian_number(value.bytes) * std::pow(10.0, -leaf_.scale);
      return;
    case Kind::kDate:
      return set_text(date_text(value.integer), cell);
    case Kind::kTime:
      return set_text(time_text(value.integer, leaf_.unit), cell);
    case Kind::kTimestamp:
      return set_text(timestamp_text(value.integer, leaf_.unit, leaf_.is_utc), cell);
    case Kind::kInt96:
      require_bytes(value.bytes, 12);
      return set_text(julian_text(little_endian<int64_t>(value.bytes),
                                  little_endian<uint32_t>(value.bytes.substr(8))),
                      cell);
    case Kind::kUuid:
      require_bytes(value.bytes, 16);
      return set_text(uuid_text(value.bytes), cell);
  }
}

void CellMaker::append_json(const Value& value, std::string& json) const {
  Cell cell;
  make(value, cell);
  if (const auto* text = std::get_if<std::string>(&cell)) {
    json += to_text(Json(*text));
  } else if (const auto* integer = std::get_if<int64_t>(&cell)) {
    json += std::to_string(*integer);
  } else if (const auto* real = std::get_if<double>(&cell)) {
    json += to_text(Json(*real));
  } else if (const auto* truth = std::get_if<bool>(&cell)) {
    json += *truth ? "true" : "false";
  } else {
    json += "null";
  }
}

}  // namespace berth::columnar
