#include "storage/formats/arrow/arrow_cells.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "storage/formats/damage.h"
#include "storage/formats/text_lines.h"

namespace berth::arrow {
namespace {

using columnar::Meaning;
using columnar::PhysicalType;

constexpr int kDeepestValue = 200;  // a dictionary may hold values that refer to the dictionary

template <typename T>
T element(Bytes bytes, uint64_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(value));
  return value;
}

bool is_set(Bytes bits, uint64_t index) {
  return (std::to_integer<unsigned>(bits[index / 8]) >> (index % 8) & 1) != 0;
}

int64_t integer_at(Bytes bytes, uint64_t index, size_t width, bool is_signed) {
  switch (width) {
    case 1:
      return is_signed ? element<int8_t>(bytes, index) : element<uint8_t>(bytes, index);
    case 2:
      return is_signed ? element<int16_t>(bytes, index) : element<uint16_t>(bytes, index);
    case 4:
      return is_signed ? element<int32_t>(bytes, index) : int64_t{element<uint32_t>(bytes, index)};
    default:
      return element<int64_t>(bytes, index);
  }
}

struct Range {
  uint64_t begin, end;
};

// The range that a value takes, by the offsets at its place and the next one. `limit` is the size
// of what they lead into.
Range range_at(Bytes offsets, uint64_t row, bool is_wide, uint64_t limit) {
  const size_t width = is_wide ? 8 : 4;
  const auto begin = static_cast<uint64_t>(integer_at(offsets, row, width, true));
  const auto end = static_cast<uint64_t>(integer_at(offsets, row + 1, width, true));
  if (begin > end || end > limit) fail_damaged(cat("offsets from ", begin, " to ", end));
  return {begin, end};
}

Range list_range(const Array& array, uint64_t row) {
  const uint64_t limit = array.children.front().length;
  switch (array.field->layout) {
    case Layout::kList32:
    case Layout::kList64:
      return range_at(array.offsets, row, array.field->layout == Layout::kList64, limit);
    case Layout::kFixedList: {
      const auto size = static_cast<uint64_t>(array.field->list_size);
      return {row * size, row * size + size};
    }
    default: {
      const size_t width = array.field->layout == Layout::kListView64 ? 8 : 4;
      const auto begin = static_cast<uint64_t>(integer_at(array.offsets, row, width, true));
      const auto size = static_cast<uint64_t>(integer_at(array.sizes, row, width, true));
      if (begin > limit || size > limit - begin) fail_damaged(cat("a list of ", size, " elements"));
      return {begin, begin + size};
    }
  }
}

// A view: i32 size, and up to 12 bytes; or the first 4 bytes, i32 block, i32 offset in it.
std::string_view view_at(const Array& array, uint64_t row) {
  constexpr uint32_t kInside = 12;
  const std::string_view view = as_text(array.offsets.subspan(16 * row, 16));
  const auto size = element<uint32_t>(array.offsets, 4 * row);
  if (size <= kInside) return view.substr(4, size);
  const auto block = element<uint32_t>(array.offsets, 4 * row + 2);
  const auto offset = element<uint32_t>(array.offsets, 4 * row + 3);
  if (block >= array.blocks.size() || offset > array.blocks[block].size() ||
      size > array.blocks[block].size() - offset) {
    fail_damaged(cat("a text of ", size, " bytes lies outside its block"));
  }
  return as_text(array.blocks[block].subspan(offset, size));
}

bool is_leaf(const Field& field) { return field.maker.has_value(); }

// For a value that has no form as text.
bool is_without_form(Layout layout) {
  return layout == Layout::kUnion || layout == Layout::kDenseUnion || layout == Layout::kRuns;
}

}  // namespace

ArrowCells::Place ArrowCells::find(const Array& array, uint64_t row) {
  if (!array.validity.empty() && !is_set(array.validity, row)) return {};
  if (is_without_form(array.field->layout)) return {};
  const auto& key = array.field->dictionary;
  if (array.dictionary == nullptr) return {&array, row};
  const auto index =
      static_cast<uint64_t>(integer_at(array.values, row, key->width, key->is_signed));
  const std::vector<uint64_t>& ends = array.dictionary->ends;
  const auto part = std::upper_bound(ends.begin(), ends.end(), index) - ends.begin();
  if (part == std::ssize(ends))
    fail_damaged(cat("index ", index, " of a dictionary of ", ends.empty() ? 0 : ends.back()));
  const uint64_t begin = part == 0 ? 0 : ends[static_cast<size_t>(part) - 1];
  const Array& values = array.dictionary->parts[static_cast<size_t>(part)].columns.front();
  const uint64_t at = index - begin;
  if (!values.validity.empty() && !is_set(values.validity, at)) return {};
  return {&values, at};
}

void ArrowCells::read(const Array& array, uint64_t row) {
  const Field& field = *array.field;
  switch (field.layout) {
    case Layout::kBits:
      value_.integer = is_set(array.values, row);
      return;
    case Layout::kTexts32:
    case Layout::kTexts64: {
      const bool is_wide = field.layout == Layout::kTexts64;
      const Range range = range_at(array.offsets, row, is_wide, array.values.size());
      value_.bytes = as_text(array.values.subspan(range.begin, range.end - range.begin));
      return;
    }
    case Layout::kViews:
      value_.bytes = view_at(array, row);
      return;
    case Layout::kFixed:
      break;
    default:
      return;  // a null
  }
  switch (*field.leaf.type) {
    case PhysicalType::kFloat:
      value_.real = element<float>(array.values, row);
      return;
    case PhysicalType::kDouble:
      value_.real = element<double>(array.values, row);
      return;
    case PhysicalType::kFixedByteArray:
      value_.bytes = as_text(array.values.subspan(row * field.width, field.width));
      if (field.leaf.meaning == Meaning::kDecimal) {
        reversed_.assign(value_.bytes.rbegin(), value_.bytes.rend());
        value_.bytes = reversed_;  // the most significant byte first
      }
      return;
    default:
      if (field.width > 8) return;  // an interval, which is missing
      value_.integer = integer_at(array.values, row, field.width, field.leaf.is_signed);
      if (field.ticks_of_day > 0) {
        const int64_t ticks = value_.integer;
        value_.integer = ticks / field.ticks_of_day - (ticks % field.ticks_of_day < 0);
      }
  }
}

void ArrowCells::make(const Array& array, uint64_t row, Cell& cell) {
  const Place place = find(array, row);
  if (place.array == nullptr) {
    cell = std::monostate();
  } else if (is_leaf(*place.array->field)) {
    read(*place.array, place.row);
    place.array->field->maker->make(value_, cell);
  } else {
    json_.clear();
    append(*place.array, place.row, 0, json_);
    cell = json_;
  }
}

void ArrowCells::append(const Array& array, uint64_t row, int depth, std::string& json) {
  if (depth > kDeepestValue) fail_damaged("values nest without an end");
  if (json.size() > TextLines::kLimitBytes) {
    throw Error(Code::kBadData, cat("holds more than ", TextLines::kLimitBytes >> 20, " MiB"));
  }
  const Place place = find(array, row);
  if (place.array == nullptr) {
    json += "null";
  } else if (is_leaf(*place.array->field)) {
    read(*place.array, place.row);
    place.array->field->maker->append_json(value_, json);
  } else if (place.array->field->layout == Layout::kStruct) {
    append_members(*place.array, place.row, depth, json);
  } else {
    append_list(*place.array, place.row, depth, json);
  }
}

void ArrowCells::append_list(const Array& array, uint64_t row, int depth, std::string& json) {
  const Range range = list_range(array, row);
  json += '[';
  for (uint64_t i = range.begin; i < range.end; ++i) {
    if (i > range.begin) json += ',';
    append(array.children.front(), i, depth + 1, json);
  }
  json += ']';
}

void ArrowCells::append_members(const Array& array, uint64_t row, int depth, std::string& json) {
  json += '{';
  for (const Array& member : array.children) {
    if (&member != &array.children.front()) json += ',';
    json += to_text(Json(member.field->name));
    json += ':';
    append(member, row, depth + 1, json);
  }
  json += '}';
}

}  // namespace berth::arrow
