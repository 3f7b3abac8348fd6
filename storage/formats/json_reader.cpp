#include <algorithm>
#include <unordered_map>
#include <vector>

#include "storage/base/error.h"
#include "storage/base/json_nesting.h"
#include "storage/base/text.h"
#include "storage/formats/joined_source.h"
#include "storage/formats/json_texts.h"
#include "storage/formats/json_tree.h"
#include "storage/formats/row_readers.h"

namespace berth {
namespace {

constexpr uint64_t kLargestObject = uint64_t{1} << 30;

// The place of the first character that is no blank; reads as far as needed. npos: there is none.
size_t first_character(ByteSource& source, std::string& text, size_t from) {
  while (true) {
    const size_t found = text.find_first_not_of(kJsonBlanks, from);
    if (found != std::string::npos) return found;
    from = text.size();
    if (!read_more(source, text)) return std::string::npos;
  }
}

// The place behind the object that begins at `begin`; reads as far as needed. npos: it does not
// end.
size_t end_of_object(ByteSource& source, std::string& text, size_t begin) {
  JsonNesting nesting;
  for (size_t at = begin;; ++at) {
    if (at > kLargestObject) {
      throw Error(Code::kMemory, cat("is one object of more than ", human_bytes(kLargestObject)),
                  "", "write JSON lines instead, as to_json(orient='records', lines=True) does");
    }
    if (at == text.size() && !read_more(source, text)) return std::string::npos;
    nesting.add(text[at]);
    if (nesting.depth() == 0 && !nesting.in_string()) return at + 1;
  }
}

// Whether the array at `begin` is ["text", {...}]: a row itself, in a file of lines.
bool begins_pair(ByteSource& source, std::string& text, size_t begin) {
  size_t at = first_character(source, text, begin + 1);
  if (at == std::string::npos || text[at] != '"') return false;
  JsonNesting nesting;
  for (; at < kLargestObject; ++at) {
    if (at == text.size() && !read_more(source, text)) return false;
    nesting.add(text[at]);
    if (nesting.in_string()) continue;
    const size_t comma = first_character(source, text, at + 1);
    if (comma == std::string::npos || text[comma] != ',') return false;
    const size_t next = first_character(source, text, comma + 1);
    return next != std::string::npos && text[next] == '{';
  }
  return false;
}

// Whether a value is an object or array of `kind`.
bool is_all(const JsonTree& values, JsonTree::Kind kind) {
  return !values.members.empty() &&
         std::ranges::all_of(values.members, [&](const auto& value) { return value.kind == kind; });
}

// A table that was one JSON object.
class WholeTable final : public RowReader {
 public:
  // A row for each member of `rows`, which are objects.
  explicit WholeTable(std::vector<JsonTree> rows) {
    std::unordered_map<std::string, size_t> index;
    for (const std::string& name : rows.front().keys) {
      if (index.emplace(name, columns_.size()).second) columns_.push_back({name, {}});
    }
    for (JsonTree& object : rows) {
      Row& row = rows_.emplace_back(columns_.size());
      for (size_t i = 0; i < object.keys.size(); ++i) {
        const auto found = index.find(object.keys[i]);
        if (found != index.end()) row[found->second] = cell_of(object.members[i], found->second);
      }
    }
  }

  // `names` are the columns, and `rows` has an array of cells for each row.
  WholeTable(std::vector<JsonTree> names, std::vector<JsonTree> rows) {
    for (JsonTree& name : names) {
      Cell cell = std::move(name).to_cell();
      const auto* text = std::get_if<std::string>(&cell);
      columns_.push_back({text != nullptr ? *text : cat(columns_.size()), {}});
    }
    for (JsonTree& cells : rows) {
      if (cells.members.size() != columns_.size()) {
        throw Error(Code::kBadData,
                    cat("has ", cells.members.size(), " cells for ", columns_.size(), " columns"),
                    cat("row ", rows_.size()));
      }
      Row& row = rows_.emplace_back();
      for (JsonTree& cell : cells.members) row.push_back(cell_of(cell, row.size()));
    }
  }

  // Each member of `columns` has the cells of a column, as an array, or as an object whose keys are
  // those of the rows.
  explicit WholeTable(JsonTree columns) {
    rows_.resize(columns.members.front().members.size());
    for (size_t i = 0; i < columns.members.size(); ++i) {
      std::vector<JsonTree>& cells = columns.members[i].members;
      if (columns.members[i].keys != columns.members.front().keys) {
        throw Error(
            Code::kBadData,
            cat("column ", quoted(columns.keys[i]),
                " has its rows in another order, or under other keys, than the first column"),
            "", "write it as rows, as to_json(orient=\"records\") of pandas does");
      }
      if (cells.size() != rows_.size()) {
        throw Error(Code::kBadData, cat("column ", quoted(columns.keys[i]), " has ", cells.size(),
                                        " cells, the first column ", rows_.size()));
      }
      columns_.push_back({std::move(columns.keys[i]), {}});
      for (size_t row = 0; row < cells.size(); ++row) {
        rows_[row].push_back(cell_of(cells[row], i));
      }
    }
  }

  std::span<const Column> columns() const override { return columns_; }
  std::string position() const override { return cat("row ", next_ - 1); }
  bool next(Row& row) override {
    if (next_ == rows_.size()) return false;
    row = std::move(rows_[next_++]);
    return true;
  }

 private:
  Cell cell_of(JsonTree& value, size_t column) {
    columns_[column].is_nested |= value.kind != JsonTree::Kind::kScalar;
    return std::move(value).to_cell();
  }

  std::vector<Column> columns_;
  std::vector<Row> rows_;
  size_t next_ = 0;
};

// The keys of pandas' rows are numbers, unless its index has names.
bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// One row of words, and not a table with a column of words.
bool is_sentence(const JsonTree& object) {
  return object.find("tokens") != nullptr || object.find("words") != nullptr;
}

std::unique_ptr<RowReader> read_table(JsonTree object) {
  using Kind = JsonTree::Kind;
  // What programs write to annotate texts for spaCy: {"classes": [...], "annotations": [pairs]}. A
  // text that was passed over is null.
  JsonTree* const pairs = object.find("annotations");
  if (pairs != nullptr && pairs->kind == Kind::kArray && object.find("classes") != nullptr) {
    std::erase_if(pairs->members, [](const JsonTree& pair) {
      return pair.kind == Kind::kScalar && std::holds_alternative<std::monostate>(pair.scalar);
    });
    if (!pairs->members.empty() && std::ranges::all_of(pairs->members, become_object)) {
      return std::make_unique<WholeTable>(std::move(pairs->members));
    }
  }
  JsonTree* const data = object.find("data");
  if (data != nullptr && data->kind == Kind::kArray) {
    if (is_all(*data, Kind::kObject)) return std::make_unique<WholeTable>(std::move(data->members));
    JsonTree* const names = object.find("columns");
    if (is_all(*data, Kind::kArray) && names != nullptr && names->kind == Kind::kArray) {
      return std::make_unique<WholeTable>(std::move(names->members), std::move(data->members));
    }
  }
  if (is_all(object, Kind::kArray) && !is_sentence(object)) {
    return std::make_unique<WholeTable>(std::move(object));
  }
  if (!is_all(object, Kind::kObject)) return nullptr;
  if (!std::ranges::all_of(object.keys, is_number)) {
    return std::make_unique<WholeTable>(std::move(object));
  }
  return std::make_unique<WholeTable>(std::move(object.members));
}

}  // namespace

std::unique_ptr<RowReader> make_json_reader(std::unique_ptr<ByteSource> source) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  std::string text;
  const auto joined = [&] {
    return std::make_unique<JoinedSource>(std::move(text), std::move(source));
  };
  size_t begin = first_character(*source, text, 0);
  if (text.starts_with(kByteOrderMark)) {
    text.erase(0, kByteOrderMark.size());
    begin = first_character(*source, text, 0);
  }
  if (begin == std::string::npos) return make_jsonl_reader(joined());
  if (text[begin] == '[') {
    if (begins_pair(*source, text, begin)) return make_jsonl_reader(joined());
    return make_json_objects_reader(make_array_elements(joined()));
  }
  if (text[begin] != '{') return make_jsonl_reader(joined());
  // One object that is all of the file may be a table. Several are rows.
  const size_t end = end_of_object(*source, text, begin);
  const bool is_alone =
      end != std::string::npos && first_character(*source, text, end) == std::string::npos;
  if (!is_alone) return make_jsonl_reader(joined());
  auto table = read_table(parse_json_tree(text));
  return table ? std::move(table) : make_jsonl_reader(joined());
}

}  // namespace berth
