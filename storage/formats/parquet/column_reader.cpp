#include "storage/formats/parquet/column_reader.h"

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "storage/base/checksum.h"
#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "storage/formats/columnar/block_codec.h"
#include "storage/formats/damage.h"
#include "storage/formats/text_lines.h"
#include "storage/formats/utf8.h"

namespace berth::parquet {
namespace {

bool refers_to_dictionary(Encoding encoding) {
  return encoding == Encoding::kPlainDictionary || encoding == Encoding::kRleDictionary;
}

int bits_for(int32_t level) { return std::bit_width(static_cast<uint32_t>(level)); }

}  // namespace

ColumnReader::ColumnReader(RandomAccessSource& file, const SchemaNode& leaf,
                           const ColumnChunk& chunk)
    : file_(file),
      leaf_(leaf),
      chunk_(chunk),
      left_(static_cast<uint64_t>(chunk.values)),
      offset_(static_cast<uint64_t>(chunk.begin)),
      released_(offset_) {
  if (chunk.type != *leaf.element.type)
    fail_damaged("a column has another type than the schema says");
}

Bytes ColumnReader::unpacked(Bytes content, uint64_t size, std::vector<std::byte>& buffer) const {
  if (chunk_.codec == Codec::kUncompressed) return content;
  decompress(chunk_.codec, content, size, buffer);
  return buffer;
}

void ColumnReader::open_dictionary(const PageHeader& header, Bytes content) {
  const Bytes bytes = unpacked(content, header.uncompressed_size, dictionary_page_);
  dictionary_ = read_dictionary(chunk_.type, leaf_.element.type_length, bytes, header.values);
  const auto is_utf8 = [](const Value& value) { return !find_invalid_utf8(value.bytes); };
  dictionary_is_utf8_ =
      chunk_.type == PhysicalType::kByteArray && std::ranges::all_of(dictionary_, is_utf8);
}

// The levels of a data page follow their size.
Bytes ColumnReader::take_levels(Bytes& content, Encoding encoding) const {
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

void ColumnReader::set_levels(Bytes repetition, Bytes definition) {
  if (leaf_.repetition > 0) repetitions_ = HybridDecoder(repetition, bits_for(leaf_.repetition));
  if (leaf_.definition > 0) definitions_ = HybridDecoder(definition, bits_for(leaf_.definition));
}

void ColumnReader::open_page(const PageHeader& header, Bytes content) {
  Bytes bytes = unpacked(content, header.uncompressed_size, page_);
  Bytes repetition, definition;
  if (leaf_.repetition > 0) repetition = take_levels(bytes, header.repetition_encoding);
  if (leaf_.definition > 0) definition = take_levels(bytes, header.definition_encoding);
  set_levels(repetition, definition);
  values_ = bytes;
}

void ColumnReader::open_page_v2(const PageHeader& header, Bytes content) {
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

// A column has a page for its dictionary, if it has one, and then pages of data.
void ColumnReader::next_page() {
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

const ColumnReader::Levels& ColumnReader::peek() {
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

const std::vector<Value>& ColumnReader::dictionary() {
  if (has_next()) peek();
  return dictionary_;
}

void ColumnReader::read(Value& value) {
  if (!is_present()) fail_damaged("a column lacks a value");
  has_levels_ = false;
  if (!reader_) {
    reader_ =
        make_value_reader(encoding_, chunk_.type, leaf_.element.type_length, values_, dictionary_);
  }
  reader_->next(value);
  value.is_utf8 = dictionary_is_utf8_ && refers_to_dictionary(encoding_);
}

void ColumnReader::read_absent() {
  if (is_present()) fail_damaged("a column has a value where another column of its group has none");
  has_levels_ = false;
}

namespace {

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

}  // namespace

ColumnAssembly::ColumnAssembly(const SchemaNode& column, std::vector<std::string> names)
    : column_(column) {
  for (const SchemaNode* leaf : leaves_of(std::span(&column, 1))) {
    makers_.emplace_back(leaf->element, names);
  }
}

void ColumnAssembly::open(RandomAccessSource& file, const RowGroup& group) {
  readers_.clear();
  for (const SchemaNode* leaf : leaves_of(std::span(&column_, 1))) {
    readers_.push_back(
        std::make_unique<ColumnReader>(file, *leaf, group.columns[leaf->first_leaf]));
  }
}

std::vector<std::string> ColumnAssembly::dictionary(RandomAccessSource& file,
                                                    const RowGroup& group) const {
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

void ColumnAssembly::require_end() const {
  for (const auto& reader : readers_) {
    if (reader->has_next()) fail_damaged("a column has more values than its row group has rows");
  }
}

bool ColumnAssembly::is_present(const SchemaNode& node) {
  return first_leaf(node).definition() >= node.definition;
}

// Whether the next entry begins another element of the repeated `node`.
bool ColumnAssembly::continues(const SchemaNode& node) {
  ColumnReader& leaf = first_leaf(node);
  return leaf.has_next() && leaf.repetition() == node.repetition;
}

void ColumnAssembly::skip_absent(const SchemaNode& node) {
  for (size_t leaf = 0; leaf < node.leaves; ++leaf) readers_[index_of(node) + leaf]->read_absent();
}

void ColumnAssembly::append(const SchemaNode& node, std::string& json) {
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

void ColumnAssembly::append_present(const SchemaNode& node, std::string& json) {
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

void ColumnAssembly::append_elements(const SchemaNode& repeated, const SchemaNode* element,
                                     std::string& json) {
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

void ColumnAssembly::append_members(const SchemaNode& group, std::string& json) {
  json += '{';
  for (const SchemaNode& member : group.children) {
    if (&member != &group.children.front()) json += ',';
    json += to_text(Json(member.element.name));
    json += ':';
    append(member, json);
  }
  json += '}';
}

void ColumnAssembly::next(Cell& cell) {
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

}  // namespace berth::parquet
