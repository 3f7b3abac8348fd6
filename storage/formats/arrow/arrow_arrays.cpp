#include "storage/formats/arrow/arrow_arrays.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "storage/formats/damage.h"
#include "storage/formats/text_lines.h"

namespace berth::arrow {
namespace {

using columnar::Codec;

constexpr size_t kNodeSize = 16, kBufferSize = 16, kViewSize = 16;

Codec codec_of(const FlatTable& record_batch) {
  const auto compression = record_batch.table(3);
  if (!compression) return Codec::kUncompressed;
  const auto codec = compression->number<int8_t>(0, 0), method = compression->number<int8_t>(1, 0);
  if (method != 0 || codec < 0 || codec > 1) {
    throw Error(Code::kBadData,
                cat("is compressed by codec ", int{codec}, ", method ", int{method},
                    ", which berth does not read"),
                "", "write it with lz4 or zstd");
  }
  return codec == 0 ? Codec::kLz4Frame : Codec::kZstd;
}

// Refuses a number of nulls that the bits do not have. A negative one means that it is not known.
void require_nulls(Bytes validity, uint64_t length, int64_t nulls) {
  if (validity.empty() || nulls < 0) return;
  uint64_t valid = 0;
  for (const std::byte bits : validity.first(length / 8)) {
    valid += static_cast<uint64_t>(std::popcount(std::to_integer<unsigned>(bits)));
  }
  if (const uint64_t rest = length % 8; rest != 0) {
    const unsigned bits = std::to_integer<unsigned>(validity[length / 8]) & ((1U << rest) - 1);
    valid += static_cast<uint64_t>(std::popcount(bits));
  }
  if (length - valid == static_cast<uint64_t>(nulls)) return;
  fail_damaged(cat("an array of ", nulls, " nulls, whose bits say ", length - valid));
}

bool has_validity(Layout layout) {
  return layout != Layout::kNothing && layout != Layout::kUnion && layout != Layout::kDenseUnion &&
         layout != Layout::kRuns;
}

}  // namespace

void BatchLoader::open(const FlatTable& record_batch, Bytes body, Batch& batch) {
  const auto rows = record_batch.number<int64_t>(0, 0);
  if (rows < 0) fail_damaged(cat("a batch of ", rows, " rows"));
  batch.rows = static_cast<uint64_t>(rows);
  nodes_ = record_batch.vector(1, kNodeSize);
  buffers_ = record_batch.vector(2, kBufferSize);
  block_counts_ = record_batch.vector(4, 8);
  codec_ = codec_of(record_batch);
  next_node_ = next_buffer_ = next_count_ = 0;
  body_ = body;
  batch_ = &batch;
}

void BatchLoader::require_end() const {
  if (next_node_ == nodes_.size() && next_buffer_ == buffers_.size()) return;
  fail_damaged("a batch has more arrays than the schema says");
}

Batch BatchLoader::load(const FlatTable& record_batch, Bytes body,
                        const std::vector<const Field*>& fields,
                        const std::vector<bool>& is_wanted) {
  Batch batch;
  open(record_batch, body, batch);
  for (size_t i = 0; i < fields.size(); ++i) {
    batch.columns.push_back(array(*fields[i], /*is_decoded=*/false, is_wanted[i]));
    if (batch.columns.back().length != batch.rows) {
      fail_damaged(cat("the column ", quoted(fields[i]->name), " has ", batch.columns.back().length,
                       " values in a batch of ", batch.rows, " rows"));
    }
  }
  require_end();
  return batch;
}

Batch BatchLoader::load_dictionary(const FlatTable& record_batch, Bytes body, const Field& field) {
  Batch batch;
  open(record_batch, body, batch);
  batch.columns.push_back(array(field, /*is_decoded=*/true, /*is_wanted=*/true));
  require_end();
  return batch;
}

Array BatchLoader::array(const Field& field, bool is_decoded, bool is_wanted) {
  if (next_node_ == nodes_.size()) fail_damaged("a batch has fewer arrays than the schema says");
  const auto length = nodes_.number<int64_t>(next_node_);
  const auto nulls = nodes_.number<int64_t>(next_node_++, 8);
  if (length < 0 || nulls > length) fail_damaged(cat("an array of ", length, " values"));
  Array array{.field = &field, .length = static_cast<uint64_t>(length)};
  const bool is_encoded = field.dictionary && !is_decoded;
  if (is_encoded || has_validity(field.layout)) {
    array.validity = next_buffer(is_wanted);
    if (is_wanted && nulls > 0 && array.validity.empty()) fail_damaged("nulls without their bits");
    if (!array.validity.empty() && array.validity.size() < (array.length + 7) / 8) {
      fail_damaged(cat("validity of ", array.validity.size(), " bytes for ", length, " values"));
    }
    require_nulls(array.validity, array.length, nulls);
  }
  if (is_encoded) {
    array.values = next_buffer(is_wanted, array.length, field.dictionary->width);
    array.dictionary = &dictionaries_.at(field.dictionary->id);
  } else {
    load_values(array, is_wanted);
    load_children(array, is_wanted);
  }
  return array;
}

void BatchLoader::load_values(Array& array, bool is_wanted) {
  const uint64_t length = array.length, ends = length == 0 ? 0 : length + 1;
  switch (array.field->layout) {
    case Layout::kNothing:
    case Layout::kStruct:
    case Layout::kFixedList:
    case Layout::kRuns:
      return;
    case Layout::kBits:
      array.values = next_buffer(is_wanted, length / 8 + (length % 8 != 0), 1);
      return;
    case Layout::kFixed:
      array.values = next_buffer(is_wanted, length, array.field->width);
      return;
    case Layout::kTexts32:
    case Layout::kTexts64:
      array.offsets = next_buffer(is_wanted, ends, array.field->layout == Layout::kTexts32 ? 4 : 8);
      array.values = next_buffer(is_wanted);
      return;
    case Layout::kViews:
      return load_views(array, is_wanted);
    case Layout::kList32:
    case Layout::kList64:
      array.offsets = next_buffer(is_wanted, ends, array.field->layout == Layout::kList32 ? 4 : 8);
      return;
    case Layout::kListView32:
    case Layout::kListView64: {
      const uint64_t width = array.field->layout == Layout::kListView32 ? 4 : 8;
      array.offsets = next_buffer(is_wanted, length, width);
      array.sizes = next_buffer(is_wanted, length, width);
      return;
    }
    case Layout::kUnion:
    case Layout::kDenseUnion:
      next_buffer(false);
      if (array.field->layout == Layout::kDenseUnion) next_buffer(false);
      return;
  }
}

void BatchLoader::load_views(Array& array, bool is_wanted) {
  array.offsets = next_buffer(is_wanted, array.length, kViewSize);
  if (next_count_ == block_counts_.size()) fail_damaged("views without the number of their blocks");
  const auto count = block_counts_.number<uint64_t>(next_count_++);
  if (count > buffers_.size()) fail_damaged(cat("views of ", count, " blocks"));
  for (uint64_t i = 0; i < count; ++i) array.blocks.push_back(next_buffer(is_wanted));
}

void BatchLoader::load_children(Array& array, bool is_wanted) {
  const Field& field = *array.field;
  const bool is_read = is_wanted && field.layout != Layout::kUnion &&
                       field.layout != Layout::kDenseUnion && field.layout != Layout::kRuns;
  for (const Field& child : field.children) {
    array.children.push_back(this->array(child, /*is_decoded=*/false, is_read));
    const uint64_t length = array.children.back().length;
    if (field.layout == Layout::kStruct && length != array.length) {
      fail_damaged(cat("a struct with ", array.length, " values and ", length, " of a member"));
    }
  }
  if (field.layout == Layout::kFixedList && field.list_size > 0 &&
      array.children.front().length / static_cast<uint64_t>(field.list_size) < array.length) {
    fail_damaged(cat(array.length, " lists of ", field.list_size, " elements, of which ",
                     array.children.front().length, " are there"));
  }
}

Bytes BatchLoader::next_buffer(bool is_wanted) {
  if (next_buffer_ == buffers_.size())
    fail_damaged("a batch has fewer buffers than the schema says");
  const auto offset = buffers_.number<uint64_t>(next_buffer_);
  const auto size = buffers_.number<uint64_t>(next_buffer_++, 8);
  if (offset > body_.size() || size > body_.size() - offset) {
    fail_damaged(cat("a buffer of ", size, " bytes lies outside its batch"));
  }
  if (!is_wanted) return {};
  return unpacked(body_.subspan(offset, size));
}

Bytes BatchLoader::next_buffer(bool is_wanted, uint64_t count, uint64_t width) {
  const Bytes buffer = next_buffer(is_wanted);
  if (is_wanted && width > 0 && buffer.size() / width < count) {
    fail_damaged(cat("a buffer of ", buffer.size(), " bytes for ", count, " values"));
  }
  return buffer;
}

// A compressed buffer: i64 its size; -1: it is not compressed after all.
Bytes BatchLoader::unpacked(Bytes bytes) {
  if (codec_ == Codec::kUncompressed || bytes.empty()) return bytes;
  Cursor cursor(bytes);
  const uint64_t size = cursor.u64();
  const Bytes rest = bytes.subspan(cursor.offset());
  if (size == UINT64_MAX) return rest;
  std::vector<std::byte>& out = batch_->buffers.emplace_back();
  columnar::decompress(codec_, rest, size, out);
  return out;
}

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
