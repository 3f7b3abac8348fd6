#include "storage/formats/parquet/column_assembly.h"

#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "storage/formats/damage.h"
#include "storage/formats/text_lines.h"

namespace berth::parquet {
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
