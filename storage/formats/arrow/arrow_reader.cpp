#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "storage/formats/arrow/arrow_messages.h"
#include "storage/formats/arrow/arrow_schema.h"
#include "storage/formats/columnar/block_codec.h"
#include "storage/formats/columnar/schema_metadata.h"
#include "storage/formats/damage.h"
#include "storage/formats/row_reader.h"
#include "storage/formats/row_readers.h"
#include "storage/formats/text_lines.h"

namespace berth {
namespace arrow {
namespace {

using columnar::Codec;
using columnar::Meaning;
using columnar::PhysicalType;

struct Dictionary;

// The values of a field in one batch. Borrows the field, the batch and the dictionary. The buffers
// are long enough for the length; offsets and sizes inside them are checked by whoever reads them.
struct Array {
  const Field* field = nullptr;
  uint64_t length = 0;
  Bytes validity{};  // a bit for each value, the lowest first; empty: all values are valid
  Bytes offsets{};   // offsets, or 16 bytes for each value of kViews
  Bytes sizes{};     // of list views
  Bytes values{};    // bits, fixed values, texts, or indices of the dictionary
  std::vector<Bytes> blocks{};             // of kViews
  std::vector<Array> children{};           // of the same length, but for lists
  const Dictionary* dictionary = nullptr;  // null: the values are here
};

// The columns of a record batch, with the memory of decompressed buffers.
struct Batch {
  uint64_t rows = 0;
  std::vector<Array> columns{};  // with no field where the column is not wanted
  std::vector<std::vector<std::byte>> buffers{};
};

// The values that indices mean: the values of the first part, then the values of the next one.
struct Dictionary {
  std::vector<Batch> parts{};    // each of one column
  std::vector<uint64_t> ends{};  // of the parts, in values
};

using Dictionaries = std::map<int64_t, Dictionary>;

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

// Makes the arrays of a record batch (Message.fbs). Buffers that are compressed by LZ4_FRAME or
// ZSTD are decompressed. Throws kCorrupt where a buffer lies outside the body or is too short, and
// what decompress() throws.
class BatchLoader {
 public:
  // Borrows the dictionaries, of which there must be one for each field that has one. They may be
  // filled later.
  explicit BatchLoader(const Dictionaries& dictionaries) : dictionaries_(dictionaries) {}

  // `is_wanted` says which fields are loaded.
  Batch load(const FlatTable& record_batch, Bytes body, const std::vector<const Field*>& fields,
             const std::vector<bool>& is_wanted) {
    Batch batch;
    open(record_batch, body, batch);
    for (size_t i = 0; i < fields.size(); ++i) {
      batch.columns.push_back(array(*fields[i], /*is_decoded=*/false, is_wanted[i]));
      if (batch.columns.back().length != batch.rows) {
        fail_damaged(cat("the column ", quoted(fields[i]->name), " has ",
                         batch.columns.back().length, " values in a batch of ", batch.rows,
                         " rows"));
      }
    }
    require_end();
    return batch;
  }

  // The values of a dictionary, of the type of `field`.
  Batch load_dictionary(const FlatTable& record_batch, Bytes body, const Field& field) {
    Batch batch;
    open(record_batch, body, batch);
    batch.columns.push_back(array(field, /*is_decoded=*/true, /*is_wanted=*/true));
    require_end();
    return batch;
  }

 private:
  void open(const FlatTable& record_batch, Bytes body, Batch& batch) {
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

  void require_end() const {
    if (next_node_ == nodes_.size() && next_buffer_ == buffers_.size()) return;
    fail_damaged("a batch has more arrays than the schema says");
  }

  Array array(const Field& field, bool is_decoded, bool is_wanted) {
    if (next_node_ == nodes_.size()) fail_damaged("a batch has fewer arrays than the schema says");
    const auto length = nodes_.number<int64_t>(next_node_);
    const auto nulls = nodes_.number<int64_t>(next_node_++, 8);
    if (length < 0 || nulls > length) fail_damaged(cat("an array of ", length, " values"));
    Array array{.field = &field, .length = static_cast<uint64_t>(length)};
    const bool is_encoded = field.dictionary && !is_decoded;
    if (is_encoded || has_validity(field.layout)) {
      array.validity = next_buffer(is_wanted);
      if (is_wanted && nulls > 0 && array.validity.empty())
        fail_damaged("nulls without their bits");
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

  void load_values(Array& array, bool is_wanted) {
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
        array.offsets =
            next_buffer(is_wanted, ends, array.field->layout == Layout::kTexts32 ? 4 : 8);
        array.values = next_buffer(is_wanted);
        return;
      case Layout::kViews:
        return load_views(array, is_wanted);
      case Layout::kList32:
      case Layout::kList64:
        array.offsets =
            next_buffer(is_wanted, ends, array.field->layout == Layout::kList32 ? 4 : 8);
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

  void load_children(Array& array, bool is_wanted) {
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

  void load_views(Array& array, bool is_wanted) {
    array.offsets = next_buffer(is_wanted, array.length, kViewSize);
    if (next_count_ == block_counts_.size())
      fail_damaged("views without the number of their blocks");
    const auto count = block_counts_.number<uint64_t>(next_count_++);
    if (count > buffers_.size()) fail_damaged(cat("views of ", count, " blocks"));
    for (uint64_t i = 0; i < count; ++i) array.blocks.push_back(next_buffer(is_wanted));
  }

  Bytes next_buffer(bool is_wanted) {
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

  Bytes next_buffer(bool is_wanted, uint64_t count, uint64_t width) {
    const Bytes buffer = next_buffer(is_wanted);
    if (is_wanted && width > 0 && buffer.size() / width < count) {
      fail_damaged(cat("a buffer of ", buffer.size(), " bytes for ", count, " values"));
    }
    return buffer;
  }

  // A compressed buffer: i64 its size; -1: it is not compressed after all.
  Bytes unpacked(Bytes bytes) {
    if (codec_ == Codec::kUncompressed || bytes.empty()) return bytes;
    Cursor cursor(bytes);
    const uint64_t size = cursor.u64();
    const Bytes rest = bytes.subspan(cursor.offset());
    if (size == UINT64_MAX) return rest;
    std::vector<std::byte>& out = batch_->buffers.emplace_back();
    columnar::decompress(codec_, rest, size, out);
    return out;
  }

  const Dictionaries& dictionaries_;
  FlatVector nodes_, buffers_, block_counts_;
  size_t next_node_ = 0, next_buffer_ = 0, next_count_ = 0;
  columnar::Codec codec_ = columnar::Codec::kUncompressed;
  Bytes body_;
  Batch* batch_ = nullptr;
};

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

// Turns the values of arrays into cells, as columnar/cell_maker.h says. A list, a map or a struct
// becomes JSON text. Each function throws kCorrupt where an offset leads outside its buffer, what
// CellMaker throws, and kBadData where JSON text exceeds 64 MiB.
class ArrowCells {
 public:
  // `row` is less than the length of the array.
  void make(const Array& array, uint64_t row, Cell& cell) {
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

 private:
  // The array and the place at which the value lies; the array is null where there is no value.
  struct Place {
    const Array* array = nullptr;
    uint64_t row = 0;
  };

  static Place find(const Array& array, uint64_t row) {
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

  void append(const Array& array, uint64_t row, int depth, std::string& json) {
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

  void append_list(const Array& array, uint64_t row, int depth, std::string& json) {
    const Range range = list_range(array, row);
    json += '[';
    for (uint64_t i = range.begin; i < range.end; ++i) {
      if (i > range.begin) json += ',';
      append(array.children.front(), i, depth + 1, json);
    }
    json += ']';
  }

  void append_members(const Array& array, uint64_t row, int depth, std::string& json) {
    json += '{';
    for (const Array& member : array.children) {
      if (&member != &array.children.front()) json += ',';
      json += to_text(Json(member.field->name));
      json += ':';
      append(member, row, depth + 1, json);
    }
    json += '}';
  }

  void read(const Array& array, uint64_t row) {
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

  columnar::Value value_;
  std::string json_, reversed_;
};

bool holds_nested(Layout layout) { return layout >= Layout::kList32 && layout <= Layout::kStruct; }

using Names = std::vector<std::string>;

// The names of the classes in a column, which may be a list of them.
const Names& class_names_of(const Field& field) {
  static const Names none;
  const Field* leaf = &field;
  while (leaf->children.size() == 1) leaf = &leaf->children.front();
  return leaf->maker ? leaf->maker->names() : none;
}

class ArrowReader final : public RowReader {
 public:
  explicit ArrowReader(std::unique_ptr<RandomAccessSource> file)
      : file_(std::move(file)),
        messages_(*file_->view()),
        schema_(read_schema(messages_.schema(), messages_.schema_size())),
        dictionary_fields_(dictionary_fields(schema_)) {
    for (const Field& field : schema_.fields) {
      fields_.push_back(&field);
      is_wanted_.push_back(false);
      if (columnar::is_pandas_index(field.name)) continue;
      if (find_column(columns_, field.name)) {
        throw Error(Code::kBadData, "has two columns called " + quoted(field.name));
      }
      columns_.push_back({.name = field.name,
                          .categories = class_names_of(field),
                          .unreadable = std::string(unreadable_part(field)),
                          .is_nested = holds_nested(field.layout),
                          .declares_classes = !class_names_of(field).empty(),
                          .holds_bytes = columnar::holds_bytes(field.leaf)});
      field_of_.push_back(fields_.size() - 1);
    }
    for (const auto& [id, field] : dictionary_fields_) dictionaries_[id];
    if (columns_.empty()) throw Error(Code::kBadData, "has no columns");
    find_batch();
    for (const std::string& name : columnar::categorical_columns(schema_.pandas)) {
      find_categories(name);
    }
    is_selected_.assign(columns_.size(), true);
  }

  std::span<const Column> columns() const override { return columns_; }
  std::string position() const override { return cat("row ", row_ - 1); }

  std::optional<uint64_t> rows_left() const override {
    uint64_t rows = batch_.rows - next_;
    const auto add = [&](const Message& message) {
      const auto more = message.header.number<int64_t>(0, 0);
      if (message.type != MessageType::kRecordBatch) return;
      if (more < 0 || __builtin_add_overflow(rows, static_cast<uint64_t>(more), &rows)) {
        fail_damaged(cat("a batch of ", more, " rows"));
      }
    };
    if (!read_ && coming_) add(*coming_);
    Messages ahead = messages_;
    while (const std::optional<Message> message = ahead.next()) add(*message);
    return rows;
  }

  void select(std::span<const size_t> columns) override {
    is_selected_.assign(columns_.size(), false);
    for (const size_t column : columns) is_selected_.at(column) = true;
  }

  bool next(Row& row) override {
    while (next_ == batch_.rows) {
      if (!next_batch()) return false;
    }
    ++row_;
    row.resize(columns_.size());
    for (size_t i = 0; i < columns_.size(); ++i) read_cell(i, row[i]);
    ++next_;
    return true;
  }

 private:
  // Reads dictionaries until a record batch comes, or the end.
  void find_batch() {
    while (true) {
      coming_ = messages_.next();
      if (!coming_ || coming_->type == MessageType::kRecordBatch) return;
      add_dictionary(*coming_);
    }
  }

  void add_dictionary(const Message& message) {
    const auto id = message.header.number<int64_t>(0, 0);
    const bool is_delta = message.header.boolean(2);
    const auto field = dictionary_fields_.find(id);
    const auto values = message.header.table(1);
    if (field == dictionary_fields_.end() || !values) {
      fail_damaged(cat("dictionary ", id, " belongs to no column"));
    }
    Batch part = BatchLoader(dictionaries_).load_dictionary(*values, message.body, *field->second);
    Dictionary& dictionary = dictionaries_[id];
    if (!is_delta && !dictionary.parts.empty()) {
      // The batches of a file have no order in which one dictionary could follow another.
      if (messages_.is_file()) fail_damaged(cat("the file has dictionary ", id, " twice"));
      dictionary = {};
    }
    const uint64_t before = dictionary.ends.empty() ? 0 : dictionary.ends.back();
    const uint64_t length = part.columns.front().length;
    if (length > UINT64_MAX - before) fail_damaged(cat("dictionary ", id, " of any length"));
    dictionary.ends.push_back(before + length);
    dictionary.parts.push_back(std::move(part));
  }

  // The values of the first dictionary are the categories, in their order.
  void find_categories(const std::string& name) {
    const auto column = find_column(columns_, name);
    if (!column || !columns_[*column].categories.empty()) return;
    const auto& key = fields_[field_of_[*column]]->dictionary;
    if (!key) return;
    Cell cell;
    for (const Batch& part : dictionaries_.at(key->id).parts) {
      const Array& values = part.columns.front();
      for (uint64_t i = 0; i < values.length; ++i) {
        cells_.make(values, i, cell);
        const auto* text = std::get_if<std::string>(&cell);
        if (text == nullptr) return columns_[*column].categories.clear();  // not of texts
        columns_[*column].categories.push_back(*text);
      }
    }
  }

  bool next_batch() {
    if (read_) file_->release(read_->begin, read_->size);
    if (read_) find_batch();
    read_ = coming_;
    if (!read_) return false;
    opened_ = is_selected_;
    for (size_t i = 0; i < columns_.size(); ++i) is_wanted_[field_of_[i]] = opened_[i];
    batch_ = BatchLoader(dictionaries_).load(read_->header, read_->body, fields_, is_wanted_);
    next_ = 0;
    return true;
  }

  void read_cell(size_t column, Cell& cell) {
    if (!opened_[column] || !is_selected_[column]) {
      cell = std::monostate();
      return;
    }
    try {
      cells_.make(batch_.columns[field_of_[column]], next_, cell);
    } catch (const Error& error) {
      throw error.at(cat(position(), ": column ", quoted(columns_[column].name)));
    }
  }

  const std::unique_ptr<RandomAccessSource> file_;
  Messages messages_;
  const Schema schema_;
  const std::map<int64_t, const Field*> dictionary_fields_;
  std::vector<const Field*> fields_;
  std::vector<Column> columns_;
  std::vector<size_t> field_of_;            // of each column
  std::vector<bool> is_wanted_;             // of fields, in the current batch
  std::vector<bool> is_selected_, opened_;  // of columns; opened_: in the current batch
  Dictionaries dictionaries_;
  ArrowCells cells_;
  std::optional<Message> coming_, read_;  // the next record batch, and the current one
  Batch batch_;
  uint64_t next_ = 0;  // of the batch's rows
  uint64_t row_ = 0;   // rows that were read
};

}  // namespace
}  // namespace arrow

std::unique_ptr<RowReader> make_arrow_reader(std::unique_ptr<RandomAccessSource> file) {
  return std::make_unique<arrow::ArrowReader>(std::move(file));
}

}  // namespace berth
