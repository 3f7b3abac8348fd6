#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "storage/formats/row_reader.h"

// Elements of numpy's arrays as cells. Thread-safe.
namespace berth {

// The part of an array's element type that reading needs.
struct NumpyDtype {
  char kind = 'V';  // b i u f c S U M m V, or O for Python objects
  uint32_t item_size = 0;
  bool big_endian = false;
};

// Parses numpy's code of a type, such as "<U5", "|S3", "i8" or "<M8[ns]". Returns nullopt for a
// code that numpy does not have, and for elements of no bytes.
std::optional<NumpyDtype> parse_dtype(std::string_view code);

// What elements of this type are, in the plural, where read_element() reads them as missing:
// "timestamps", "complex numbers". Otherwise empty.
std::string unreadable_values(const NumpyDtype& dtype);

// Sets `cell` to the element at `item`, which has dtype.item_size bytes. Text may be padded with
// zeros; bytes that are not UTF-8 are read as Latin-1. NaN and kinds that are neither text nor
// numbers read as missing. Throws kCorrupt or kBadData where a character is invalid.
void read_element(const NumpyDtype& dtype, const std::byte* item, Cell& cell);

// Returns an element of kind i, u or b.
int64_t integer_element(const NumpyDtype& dtype, const std::byte* item);

}  // namespace berth
