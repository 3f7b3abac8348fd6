#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/base/checksum.h"
#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "storage/base/utf8.h"
#include "storage/formats/arrow/arrow_schema.h"
#include "storage/formats/columnar/block_codec.h"
#include "storage/formats/columnar/cell_maker.h"
#include "storage/formats/columnar/schema_metadata.h"
#include "storage/formats/damage.h"
#include "storage/formats/parquet/parquet_metadata.h"
#include "storage/formats/parquet/values.h"
#include "storage/formats/row_reader.h"
#include "storage/formats/row_readers.h"
#include "storage/formats/text_lines.h"

namespace berth {
namespace parquet {
namespace {

bool refers_to_dictionary(Encoding encoding) {
  return encoding == Encoding::kPlainDictionary || encoding == Encoding::kRleDictionary;
}

int bits_for(int32_t level) { return std::bit_width(static_cast<uint32_t>(level)); }

// Reads one column of a row group, entry by entry. An entry is a value, or says at which level
// there is none; SchemaNode says what the levels mean. Holds one page in memory. Borrows the
// file and the leaf. Every function throws kCorrupt where a page is damaged or ends too early, and
// what decompress() throws.
class ColumnReader {
 public:
  ColumnReader(RandomAccessSource& file, const SchemaNode& leaf, const ColumnChunk& chunk)
      : file_(file),
        leaf_(leaf),
        chunk_(chunk),
        left_(static_cast<uint64_t>(chunk.values)),
        offset_(static_cast<uint64_t>(chunk.begin)),
        released_(offset_) {
    if (chunk.type != *leaf.element.type)
      fail_damaged("a column has another type than the schema says");
  }

  // Whether an entry is left.
  bool has_next() const { return has_levels_ || left_ > 0; }
  // The values to which the first page refers; empty: it refers to none. They stay valid as long as
  // this object.
  const std::vector<Value>& dictionary() {
    if (has_next()) peek();
    return dictionary_;
  }

  // The levels of the entry that is not yet read.
  int32_t repetition() { return peek().repetition; }
  int32_t definition() { return peek().definition; }
  bool is_present() { return definition() == leaf_.definition; }

  // Reads the entry, which has a value. The value stays valid until the next call.
  void read(Value& value) {
    if (!is_present()) fail_damaged("a column lacks a value");
    has_levels_ = false;
    if (!reader_) {
      reader_ = make_value_reader(encoding_, chunk_.type, leaf_.element.type_length, values_,
                                  dictionary_);
    }
    reader_->next(value);
    value.is_utf8 = dictionary_is_utf8_ && refers_to_dictionary(encoding_);
  }

  // Reads the entry, which must have no value.
  void read_absent() {
    if (is_present())
      fail_damaged("a column has a value where another column of its group has none");
    has_levels_ = false;
  }

 private:
  struct Levels {
    int32_t repetition = 0, definition = 0;
  };

  const Levels& peek() {
    if (has_levels_) return levels_;
    if (left_ == 0) fail_damaged("a column ends too early");
    if (in_page_ == 0) next_page();
    if (leaf_.repetition > 0) levels_.repetition = static_cast<int32_t>(repetitions_.next());
    if (leaf_.definition > 0) levels_.definition = static_cast<int32_t>(definitions_.next());
    if (levels_.repetition > leaf_.repetition || levels_.definition > leaf_.definition) {
      fail_damaged("a value has a level that its column does not have");
    }
    has_levels_ = true;
    --in_page_;
    --left_;
    return levels_;
  }

  // A column has a page for its dictionary, if it has one, and then pages of data.
  void next_page() {
    const auto end = static_cast<uint64_t>(chunk_.begin + chunk_.size);
    file_.release(released_, offset_ - released_);
    released_ = offset_;
    while (in_page_ == 0) {
      if (offset_ >= end) fail_damaged(cat("a column ends ", left_, " values too early"));
      const Bytes rest = file_.view()->subspan(offset_, end - offset_);
      size_t header_size = 0;
      const PageHeader header = read_page_header(rest, header_size);
      if (header.compressed_size > rest.size() - header_size) {
        fail_at_byte(offset_, cat("a page of ", header.compressed_size, " bytes"));
      }
      const Bytes content = rest.subspan(header_size, header.compressed_size);
      if (header.crc32 && crc32(content) != *header.crc32) {
        fail_at_byte(offset_, "a page does not have the checksum that its header says");
      }
      offset_ += header_size + header.compressed_size;
      reader_.reset();
      encoding_ = header.encoding;
      if (header.type == PageType::kDictionary) {
        open_dictionary(header, content);
      } else if (header.type != PageType::kIndex) {
        header.type == PageType::kData ? open_page(header, content) : open_page_v2(header, content);
        in_page_ = header.values;
        if (in_page_ > left_) fail_damaged("a column has more values than its metadata says");
      }
    }
  }

  void open_dictionary(const PageHeader& header, Bytes content) {
    const Bytes bytes = unpacked(content, header.uncompressed_size, dictionary_page_);
    dictionary_ = read_dictionary(chunk_.type, leaf_.element.type_length, bytes, header.values);
    const auto is_utf8 = [](const Value& value) { return !find_invalid_utf8(value.bytes); };
    dictionary_is_utf8_ =
        chunk_.type == PhysicalType::kByteArray && std::ranges::all_of(dictionary_, is_utf8);
  }

  void open_page(const PageHeader& header, Bytes content) {
    Bytes bytes = unpacked(content, header.uncompressed_size, page_);
    Bytes repetition, definition;
    if (leaf_.repetition > 0) repetition = take_levels(bytes, header.repetition_encoding);
    if (leaf_.definition > 0) definition = take_levels(bytes, header.definition_encoding);
    set_levels(repetition, definition);
    values_ = bytes;
  }

  void open_page_v2(const PageHeader& header, Bytes content) {
    const uint64_t levels = uint64_t{header.repetition_size} + header.definition_size;
    if (levels > content.size() || levels > header.uncompressed_size) {
      fail_damaged(cat("a page with levels of ", levels, " bytes"));
    }
    set_levels(content.first(header.repetition_size),
               content.subspan(header.repetition_size, header.definition_size));
    values_ = content.subspan(levels);
    if (header.is_compressed && header.uncompressed_size > levels) {
      values_ = unpacked(values_, header.uncompressed_size - levels, page_);
    }
  }

  // The levels of a data page follow their size.
  Bytes take_levels(Bytes& content, Encoding encoding) const {
    if (encoding != Encoding::kRle && encoding != Encoding::kBitPacked) {
      fail_damaged(cat("levels in encoding ", int{static_cast<uint8_t>(encoding)},
                       ", which levels cannot have"));
    }
    if (encoding == Encoding::kBitPacked) {
      throw Error(Code::kBadData, "has levels in the deprecated encoding BIT_PACKED", "",
                  "write it again with a current version of its writer");
    }
    Cursor cursor(content);
    const Bytes levels = cursor.take(cursor.u32());
    content = content.subspan(cursor.offset());
    return levels;
  }

  void set_levels(Bytes repetition, Bytes definition) {
    if (leaf_.repetition > 0) repetitions_ = HybridDecoder(repetition, bits_for(leaf_.repetition));
    if (leaf_.definition > 0) definitions_ = HybridDecoder(definition, bits_for(leaf_.definition));
  }

  Bytes unpacked(Bytes content, uint64_t size, std::vector<std::byte>& buffer) const {
    if (chunk_.codec == Codec::kUncompressed) return content;
    decompress(chunk_.codec, content, size, buffer);
    return buffer;
  }

  RandomAccessSource& file_;
  const SchemaNode& leaf_;
  const ColumnChunk chunk_;
  uint64_t left_;                       // entries of the chunk
  uint64_t in_page_ = 0;                // entries that are left of the page
  uint64_t offset_ = 0, released_ = 0;  // in the file: of the next page, and of the current one
  HybridDecoder repetitions_, definitions_;
  Levels levels_;
  bool has_levels_ = false;  // levels_ belong to the next entry
  Encoding encoding_ = Encoding::kPlain;
  Bytes values_;                         // of the page
  std::unique_ptr<ValueReader> reader_;  // of values_; null until a value is read
  std::vector<std::byte> page_, dictionary_page_;
  std::vector<Value> dictionary_;
  bool dictionary_is_utf8_ = false;  // so that its texts are checked once, and not for each row
};

// The node that holds the elements of a repeated node; nullptr: the repeated node itself.
// Three-level lists have a repeated group around each element. Two-level lists, which older writers
// made, do not. LogicalTypes.md has the rules that distinguish them.
const SchemaNode* element_of(const SchemaNode& list, const SchemaNode& repeated) {
  if (repeated.is_leaf() || repeated.children.size() != 1) return nullptr;
  const std::string& name = repeated.element.name;
  if (name == "array" || name == list.element.name + "_tuple") return nullptr;
  return &repeated.children.front();
}

bool is_list(const SchemaNode& node) {
  const bool says_so =
      node.element.meaning == Meaning::kList || node.element.meaning == Meaning::kMap;
  return says_so && node.children.size() == 1 &&
         node.children.front().element.repetition == Repetition::kRepeated;
}

// Puts the cells of one column of a table together, from the leaves below it (Melnik et al. 2010).
// A leaf that is not repeated gives its values. Any other column gives JSON text: lists, maps and
// repeated nodes are arrays, and other groups are objects. Borrows the column.
class ColumnAssembly {
 public:
  // `names` are the names of the classes for which integers stand; empty if the integers are
  // numbers.
  ColumnAssembly(const SchemaNode& column, std::vector<std::string> names) : column_(column) {
    for (const SchemaNode* leaf : leaves_of(std::span(&column, 1))) {
      makers_.emplace_back(leaf->element, names);
    }
  }

  // Begins with the rows of a row group. Borrows the file.
  void open(RandomAccessSource& file, const RowGroup& group) {
    readers_.clear();
    for (const SchemaNode* leaf : leaves_of(std::span(&column_, 1))) {
      readers_.push_back(
          std::make_unique<ColumnReader>(file, *leaf, group.columns[leaf->first_leaf]));
    }
  }

  // The texts of the dictionary with which a row group begins, where the column is a leaf of texts
  // that has one.
  std::vector<std::string> dictionary(RandomAccessSource& file, const RowGroup& group) const {
    std::vector<std::string> texts;
    if (column_.element.type != PhysicalType::kByteArray) return texts;
    ColumnReader reader(file, column_, group.columns[column_.first_leaf]);
    Cell cell;
    for (const Value& value : reader.dictionary()) {
      makers_.front().make(value, cell);
      if (const auto* text = std::get_if<std::string>(&cell)) texts.push_back(*text);
    }
    return texts;
  }

  // Reads the cell of the next row. Throws kCorrupt where the leaves of the column contradict each
  // other, kBadData where JSON text exceeds 64 MiB, and what CellMaker and ColumnReader throw.
  void next(Cell& cell) {
    if (column_.leaves == 0) {
      cell = std::monostate();
      return;
    }
    if (first_leaf(column_).repetition() != 0) fail_damaged("a row begins inside a list");
    const bool is_repeated = column_.element.repetition == Repetition::kRepeated;
    if (!is_repeated && !is_present(column_)) {
      skip_absent(column_);
      cell = std::monostate();
    } else if (column_.is_leaf() && !is_repeated) {
      readers_.front()->read(value_);
      makers_.front().make(value_, cell);
    } else {
      json_.clear();
      append(column_, json_);
      cell = json_;
    }
  }

  // Throws kCorrupt if the row group has more values after its last row.
  void require_end() const {
    for (const auto& reader : readers_) {
      if (reader->has_next()) fail_damaged("a column has more values than its row group has rows");
    }
  }

 private:
  ColumnReader& first_leaf(const SchemaNode& node) { return *readers_[index_of(node)]; }
  size_t index_of(const SchemaNode& node) const { return node.first_leaf - column_.first_leaf; }

  bool is_present(const SchemaNode& node) {
    return first_leaf(node).definition() >= node.definition;
  }

  // Whether the next entry begins another element of the repeated `node`.
  bool continues(const SchemaNode& node) {
    ColumnReader& leaf = first_leaf(node);
    return leaf.has_next() && leaf.repetition() == node.repetition;
  }

  void skip_absent(const SchemaNode& node) {
    for (size_t leaf = 0; leaf < node.leaves; ++leaf)
      readers_[index_of(node) + leaf]->read_absent();
  }

  // `append` is for a node that may be absent, `append_present` for one that is not.
  void append(const SchemaNode& node, std::string& json) {
    if (node.leaves == 0) {
      json += "null";  // a group of nothing has no entries
    } else if (node.element.repetition == Repetition::kRepeated) {
      append_elements(node, nullptr, json);
    } else if (!is_present(node)) {
      skip_absent(node);
      json += "null";
    } else {
      append_present(node, json);
    }
  }

  void append_present(const SchemaNode& node, std::string& json) {
    if (json.size() > TextLines::kLimitBytes) {
      throw Error(Code::kBadData, cat("holds more than ", TextLines::kLimitBytes >> 20, " MiB"));
    }
    if (node.is_leaf()) {
      first_leaf(node).read(value_);
      makers_[index_of(node)].append_json(value_, json);
    } else if (is_list(node)) {
      const SchemaNode& repeated = node.children.front();
      append_elements(repeated, element_of(node, repeated), json);
    } else {
      append_members(node, json);
    }
  }

  void append_elements(const SchemaNode& repeated, const SchemaNode* element, std::string& json) {
    if (!is_present(repeated)) {
      skip_absent(repeated);
      json += "[]";
      return;
    }
    char before = '[';
    do {
      json += std::exchange(before, ',');
      element != nullptr ? append(*element, json) : append_present(repeated, json);
    } while (continues(repeated));
    json += ']';
  }

  void append_members(const SchemaNode& group, std::string& json) {
    json += '{';
    for (const SchemaNode& member : group.children) {
      if (&member != &group.children.front()) json += ',';
      json += to_text(Json(member.element.name));
      json += ':';
      append(member, json);
    }
    json += '}';
  }

  const SchemaNode& column_;
  std::vector<CellMaker> makers_;  // one for each leaf
  std::vector<std::unique_ptr<ColumnReader>> readers_;
  Value value_;
  std::string json_;
};

class ParquetReader final : public RowReader {
 public:
  explicit ParquetReader(std::unique_ptr<RandomAccessSource> file)
      : file_(std::move(file)),
        metadata_(read_metadata(*file_->view())),
        tree_(make_columns(metadata_.schema)) {
    auto names = class_names(metadata_.hugging_face);
    for (const SchemaNode& node : tree_) {
      const std::string& name = node.element.name;
      if (is_pandas_index(name)) continue;
      if (find_column(columns_, name)) {
        throw Error(Code::kBadData, "has two columns called " + quoted(name));
      }
      columns_.push_back({.name = name, .categories = names[name]});
      columns_.back().is_nested = !node.is_leaf();
      columns_.back().holds_bytes = node.is_leaf() && holds_bytes(node.element);
      columns_.back().declares_classes = !names[name].empty();
      assemblies_.emplace_back(node, std::move(names[name]));
    }
    if (columns_.empty()) throw Error(Code::kBadData, "has no columns");
    mark_durations(duration_columns(metadata_.pandas));
    mark_durations(interval_columns(metadata_.spark));
    mark_durations(arrow::duration_columns(metadata_.arrow_schema));
    for (const std::string& name : categorical_columns(metadata_.pandas)) find_categories(name);
    is_selected_.assign(columns_.size(), true);
  }

  std::span<const Column> columns() const override { return columns_; }
  std::string position() const override { return cat("row ", row_ - 1); }
  std::optional<uint64_t> rows_left() const override {
    return static_cast<uint64_t>(metadata_.rows) - row_;
  }

  void select(std::span<const size_t> columns) override {
    is_selected_.assign(columns_.size(), false);
    for (const size_t column : columns) is_selected_.at(column) = true;
  }

  bool next(Row& row) override {
    while (rows_left_ == 0) {
      if (!next_group()) return false;
    }
    --rows_left_;
    ++row_;
    row.resize(columns_.size());
    for (size_t i = 0; i < columns_.size(); ++i) read_cell(i, row[i]);
    return true;
  }

 private:
  void mark_durations(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      if (const auto column = find_column(columns_, name)) {
        columns_[*column].unreadable = "durations";
      }
    }
  }

  // The values of the first dictionary are the categories, in their order.
  void find_categories(const std::string& name) {
    const auto column = find_column(columns_, name);
    if (!column || metadata_.row_groups.empty() || !columns_[*column].categories.empty()) return;
    columns_[*column].categories =
        assemblies_[*column].dictionary(*file_, metadata_.row_groups.front());
  }

  bool next_group() {
    if (group_ > 0) {
      require_end();
      release(metadata_.row_groups[group_ - 1]);
    }
    if (group_ == metadata_.row_groups.size()) return false;
    const RowGroup& group = metadata_.row_groups[group_++];
    opened_ = is_selected_;
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (opened_[i]) assemblies_[i].open(*file_, group);
    }
    rows_left_ = group.rows;
    return true;
  }

  // The last page of each column, and what was read along with the pages.
  void release(const RowGroup& group) {
    auto begin = static_cast<int64_t>(file_->size()), end = int64_t{0};
    for (const ColumnChunk& chunk : group.columns) {
      if (chunk.values == 0) continue;  // its place may be anything
      begin = std::min(begin, chunk.begin);
      end = std::max(end, chunk.begin + chunk.size);
    }
    if (begin >= end) return;
    file_->release(static_cast<uint64_t>(begin), static_cast<uint64_t>(end - begin));
  }

  void require_end() const {
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (opened_[i] && is_selected_[i]) assemblies_[i].require_end();
    }
  }

  void read_cell(size_t column, Cell& cell) {
    if (!opened_[column] || !is_selected_[column]) {
      cell = std::monostate();
      return;
    }
    try {
      assemblies_[column].next(cell);
    } catch (const Error& error) {
      throw error.at(cat(position(), ": column ", quoted(columns_[column].name)));
    }
  }

  const std::unique_ptr<RandomAccessSource> file_;
  const FileMetadata metadata_;
  const std::vector<SchemaNode> tree_;
  std::vector<Column> columns_;
  std::vector<ColumnAssembly> assemblies_;
  std::vector<bool> is_selected_, opened_;  // opened_: in the current row group
  size_t group_ = 0;                        // of the next row group
  int64_t rows_left_ = 0;                   // in the current one
  uint64_t row_ = 0;                        // rows that were read
};

}  // namespace
}  // namespace parquet

std::unique_ptr<RowReader> make_parquet_reader(std::unique_ptr<RandomAccessSource> file) {
  return std::make_unique<parquet::ParquetReader>(std::move(file));
}

}  // namespace berth
