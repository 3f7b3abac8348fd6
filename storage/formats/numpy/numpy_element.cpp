#include "storage/formats/numpy/numpy_element.h"

#include <bit>
#include <charconv>
#include <string>

#include "storage/base/bytes.h"
#include "storage/base/dtype.h"
#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/base/utf8.h"
#include "storage/formats/pickle/cell_source.h"

namespace berth {
namespace {

uint64_t load(const std::byte* bytes, uint32_t size, bool big_endian) {
  uint64_t value = 0;
  for (uint32_t i = 0; i < size; ++i) {
    value |= std::to_integer<uint64_t>(bytes[i]) << (8 * (big_endian ? size - 1 - i : i));
  }
  return value;
}

double load_float(const std::byte* bytes, const NumpyDtype& dtype) {
  const uint64_t bits = load(bytes, dtype.item_size, dtype.big_endian);
  if (dtype.item_size == 8) return std::bit_cast<double>(bits);
  if (dtype.item_size == 4) return std::bit_cast<float>(static_cast<uint32_t>(bits));
  return from_f16(static_cast<uint16_t>(bits));
}

int64_t load_signed(const std::byte* bytes, const NumpyDtype& dtype) {
  const int unused = 64 - 8 * static_cast<int>(dtype.item_size);
  const uint64_t value = load(bytes, dtype.item_size, dtype.big_endian);
  return static_cast<int64_t>(value << unused) >> unused;
}

void read_unsigned(const std::byte* item, const NumpyDtype& dtype, Cell& cell) {
  const uint64_t value = load(item, dtype.item_size, dtype.big_endian);
  if (value <= INT64_MAX) {
    cell = static_cast<int64_t>(value);
  } else {
    set_text(std::to_string(value), cell);
  }
}

// Reads a fixed-width UTF-32 text that is padded with zeros.
void read_utf32(const std::byte* bytes, const NumpyDtype& dtype, Cell& cell) {
  uint32_t size = dtype.item_size / 4;
  const auto at = [&](uint32_t i) {
    return static_cast<uint32_t>(load(bytes + 4 * size_t{i}, 4, dtype.big_endian));
  };
  while (size > 0 && at(size - 1) == 0) --size;
  std::string text;
  for (uint32_t i = 0; i < size; ++i) {
    if (at(i) > 0x10FFFF) throw Error(Code::kCorrupt, cat("a character of code ", at(i)));
    append_utf8(at(i), text);
  }
  set_text(text, cell);
}

void read_old_text(const std::byte* item, const NumpyDtype& dtype, Cell& cell) {
  const std::string_view padded = as_text(Bytes(item, dtype.item_size));
  set_old_text(padded.substr(0, padded.find_last_not_of('\0') + 1), cell);
}

bool is_known_size(char kind, uint32_t size) {
  const bool power = size == 1 || size == 2 || size == 4 || size == 8;
  switch (kind) {
    case 'b':
      return size == 1;
    case 'i':
    case 'u':
      return power;
    case 'f':
      return size == 2 || size == 4 || size == 8 || size == 12 || size == 16;
    default:
      return size > 0 || kind == 'U' || kind == 'S';  // empty texts
  }
}

}  // namespace

std::optional<NumpyDtype> parse_dtype(std::string_view code) {
  constexpr std::string_view kOrders = "<>|=", kKinds = "biufcSUMmVO";
  NumpyDtype dtype;
  if (!code.empty() && kOrders.find(code[0]) != kOrders.npos) {
    dtype.big_endian = code[0] == '>';
    code.remove_prefix(1);
  }
  if (code.empty() || kKinds.find(code[0]) == kKinds.npos) return std::nullopt;
  dtype.kind = code[0];
  const bool is_moment = dtype.kind == 'M' || dtype.kind == 'm';
  if (is_moment) code = code.substr(0, code.find('['));  // the unit
  if (code == "O") code = "O8";
  const char* end = code.data() + code.size();
  const auto [stopped, error] = std::from_chars(code.data() + 1, end, dtype.item_size);
  if (error != std::errc() || stopped != end || dtype.item_size > INT32_MAX / 4) {
    return std::nullopt;
  }
  if (dtype.kind == 'U') dtype.item_size *= 4;
  if (!is_known_size(dtype.kind, dtype.item_size)) return std::nullopt;
  return dtype;
}

std::string unreadable_values(const NumpyDtype& dtype) {
  switch (dtype.kind) {
    case 'M':
      return "timestamps";
    case 'm':
      return "durations";
    case 'c':
      return "complex numbers";
    case 'f':
      return dtype.item_size > 8 ? "numbers of more than 64 bits" : "";
    default:
      constexpr std::string_view kReadable = "biuSUO";
      return kReadable.find(dtype.kind) == kReadable.npos ? "bytes without a type" : "";
  }
}

void read_element(const NumpyDtype& dtype, const std::byte* item, Cell& cell) {
  switch (dtype.kind) {
    case 'b':
      cell = *item != std::byte{0};
      return;
    case 'i':
      cell = load_signed(item, dtype);
      return;
    case 'u':
      return read_unsigned(item, dtype, cell);
    case 'f':
      if (dtype.item_size > 8) break;  // long double
      return set_float(load_float(item, dtype), cell);
    case 'S':
      return read_old_text(item, dtype, cell);
    case 'U':
      return read_utf32(item, dtype, cell);
    default:
      break;
  }
  cell = std::monostate();
}

int64_t integer_element(const NumpyDtype& dtype, const std::byte* item) {
  if (dtype.kind == 'i') return load_signed(item, dtype);
  return static_cast<int64_t>(load(item, dtype.item_size, dtype.big_endian));
}

}  // namespace berth
