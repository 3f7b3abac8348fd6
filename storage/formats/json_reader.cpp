#include "storage/formats/json_reader.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "storage/base/utf8.h"
#include "storage/formats/damage.h"
#include "storage/formats/json_rows.h"
#include "storage/formats/row_readers.h"
#include "storage/formats/text_form.h"
#include "storage/formats/text_lines.h"
#include "storage/formats/utf8.h"

namespace berth {
namespace {

[[noreturn]] void refuse(size_t at) {
  throw Error(Code::kBadData, cat("is not valid JSON at byte ", at + 1));
}

// The place of the next character that is no blank.
size_t next_place(std::string_view text, size_t at) {
  at = text.find_first_not_of(kJsonBlanks, at);
  if (at == std::string_view::npos) refuse(text.size());
  return at;
}

size_t end_of_value(std::string_view text, size_t begin) {
  constexpr std::string_view kAfterScalar = ",]} \t\r\n";
  if (std::string_view("\"{[").find(text[begin]) == std::string_view::npos) {
    const size_t end = std::min(text.find_first_of(kAfterScalar, begin), text.size());
    if (end == begin) refuse(begin);
    return end;
  }
  JsonNesting nesting;
  for (size_t at = begin; at < text.size(); ++at) {
    nesting.add(text[at]);
    if (nesting.depth() == 0 && !nesting.in_string()) return at + 1;
  }
  refuse(text.size());
}

// The place of the value behind the key that ends at `end`.
size_t value_behind(std::string_view text, size_t end) {
  const size_t colon = next_place(text, end);
  if (text[colon] != ':') refuse(colon);
  return next_place(text, colon + 1);
}

}  // namespace

JsonMembers find_members(std::string_view text, size_t begin) {
  JsonMembers members{.is_object = text[begin] == '{'};
  const char closing = members.is_object ? '}' : ']';
  size_t at = next_place(text, begin + 1);
  if (text[at] == closing) return members;
  while (true) {
    if (members.is_object && text[at] != '"') refuse(at);
    members.begins.push_back(static_cast<uint32_t>(at));
    size_t end = end_of_value(text, at);
    if (members.is_object) end = end_of_value(text, value_behind(text, end));
    at = next_place(text, end);
    if (text[at] == closing) break;
    if (text[at] != ',') refuse(at);
    at = next_place(text, at + 1);
  }
  members.begins.shrink_to_fit();
  return members;
}

size_t value_place(std::string_view text, size_t begin, bool is_object) {
  return is_object ? value_behind(text, end_of_value(text, begin)) : begin;
}

JsonMember member_at(std::string_view text, size_t begin, bool is_object) {
  JsonMember member;
  if (is_object) {
    const size_t end = end_of_value(text, begin);
    member.key = text.substr(begin, end - begin);
    begin = value_behind(text, end);
  }
  member.value = text.substr(begin, end_of_value(text, begin) - begin);
  return member;
}

namespace {

class ArrayElements final : public JsonTexts {
 public:
  explicit ArrayElements(std::unique_ptr<ByteSource> source) : source_(std::move(source)) {}

  bool next(std::string_view& text) override {
    if (at_end_) return false;
    if (number_ == 0) {
      skip_blanks();
      if (take() != '[') fail("does not begin with a bracket");
    }
    skip_blanks();
    if (number_ == 0 && peek() == ']') {
      ++place_;
      require_end();
      return false;
    }
    element_.clear();
    const char after = read_element();
    ++number_;
    text = std::string_view(element_).substr(0, element_.find_last_not_of(kJsonBlanks) + 1);
    if (text.empty()) {
      throw Error(Code::kBadData, "is empty", position(),
                  "one comma stands between two elements, and none before the closing bracket");
    }
    if (const auto bad = find_invalid_utf8(text)) {
      throw Error(Code::kBadData, cat("byte ", *bad + 1, " is not UTF-8"), position(),
                  kOfEncodings);
    }
    if (after == ']') require_end();
    return true;
  }

  std::string position() const override { return cat("element ", number_); }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(Code::kCorrupt, what, cat("behind element ", number_), kFetchAgain);
  }

  // Behind the array nothing may stand.
  void require_end() {
    at_end_ = true;
    while (fill()) {
      if (kJsonBlanks.find(buffer_[place_]) == std::string_view::npos) {
        throw Error(Code::kBadData, "something follows the array", cat("behind element ", number_),
                    "a file holds one array, or an object in each line");
      }
      ++place_;
    }
  }

  bool fill() {
    if (place_ < filled_) return true;
    place_ = 0;
    filled_ = source_->read(std::as_writable_bytes(std::span(buffer_)));
    return filled_ > 0;
  }
  char peek() {
    if (!fill()) fail("the array does not end");
    return buffer_[place_];
  }
  char take() {
    const char taken = peek();
    ++place_;
    return taken;
  }
  void skip_blanks() {
    while (kJsonBlanks.find(peek()) != std::string_view::npos) ++place_;
  }

  // Reads an element to the comma or the bracket behind it, and returns that.
  char read_element() {
    JsonNesting nesting;
    while (true) {
      const char next = take();
      const bool is_between = nesting.depth() == 0 && !nesting.in_string();
      if (is_between && (next == ',' || next == ']')) return next;
      nesting.add(next);
      element_ += next;
      if (element_.size() > TextLines::kLimitBytes) {
        throw Error(Code::kBadData, cat("is longer than ", human_bytes(TextLines::kLimitBytes)),
                    cat("element ", number_ + 1));
      }
    }
  }

  const std::unique_ptr<ByteSource> source_;
  std::vector<char> buffer_ = std::vector<char>(size_t{1} << 16);
  size_t place_ = 0, filled_ = 0;
  std::string element_;
  uint64_t number_ = 0;
  bool at_end_ = false;
};

}  // namespace

std::unique_ptr<JsonTexts> make_array_elements(std::unique_ptr<ByteSource> source) {
  return std::make_unique<ArrayElements>(std::move(source));
}

namespace {

constexpr uint64_t kLargestObject = uint64_t{1} << 30;

// The position of the first character that is not a blank; npos if there is none. Reads more of the
// file if needed.
size_t first_character(ByteSource& source, std::string& text, size_t from) {
  while (true) {
    const size_t found = text.find_first_not_of(kJsonBlanks, from);
    if (found != std::string::npos) return found;
    from = text.size();
    if (!read_more(source, text)) return std::string::npos;
  }
}

// The position behind the object that begins at `begin`; npos if it does not end. Reads more of the
// file if needed.
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

// A table that is one JSON object. Holds its text, and of each row or cell the place.
class WholeTable : public RowReader {
 public:
  std::span<const Column> columns() const override { return columns_; }
  std::string position() const override { return cat("row ", next_ - 1); }
  bool next(Row& row) override {
    if (next_ == count_) return false;
    ++next_;
    try {
      read(next_ - 1, row);
    } catch (const Error& error) {
      throw error.at(position());
    }
    return true;
  }

 protected:
  explicit WholeTable(std::string text) : text_(std::move(text)) {}

  virtual void read(size_t place, Row& row) = 0;

  Cell cell_of(JsonTree value, size_t column) {
    columns_[column].is_nested |= value.kind != JsonTree::Kind::kScalar;
    return std::move(value).to_cell();
  }

  const std::string text_;
  std::vector<Column> columns_;
  size_t count_ = 0, next_ = 0;  // rows
};

// A row for each member, which is an object, or a pair that becomes one.
class ObjectRows final : public WholeTable {
 public:
  ObjectRows(std::string text, JsonMembers rows)
      : WholeTable(std::move(text)), rows_(std::move(rows)) {
    count_ = rows_.begins.size();
    for (const std::string& name : object_at(0).keys) {
      if (index_.emplace(name, columns_.size()).second) columns_.push_back({name, {}});
    }
  }

 private:
  JsonTree object_at(size_t place) const {
    JsonTree row = parse_json_tree(member_at(text_, rows_.begins[place], rows_.is_object).value);
    become_object(row);
    return row;
  }

  void read(size_t place, Row& row) override {
    JsonTree object = object_at(place);
    row.assign(columns_.size(), {});
    for (size_t i = 0; i < object.keys.size(); ++i) {
      const auto found = index_.find(object.keys[i]);
      if (found == index_.end()) continue;
      row[found->second] = cell_of(std::move(object.members[i]), found->second);
    }
  }

  const JsonMembers rows_;
  std::unordered_map<std::string, size_t> index_;
};

// A row for each element, which is an array of cells. `names` are the columns.
class ArrayRows final : public WholeTable {
 public:
  ArrayRows(std::string text, std::string_view names, JsonMembers rows)
      : WholeTable(std::move(text)), rows_(std::move(rows)) {
    count_ = rows_.begins.size();
    for (JsonTree& name : parse_json_tree(names).members) {
      const Cell cell = std::move(name).to_cell();
      const auto* text_name = std::get_if<std::string>(&cell);
      columns_.push_back({text_name != nullptr ? *text_name : cat(columns_.size()), {}});
    }
  }

 private:
  void read(size_t place, Row& row) override {
    JsonTree cells = parse_json_tree(member_at(text_, rows_.begins[place], false).value);
    if (cells.members.size() != columns_.size()) {
      throw Error(Code::kBadData,
                  cat("has ", cells.members.size(), " cells for ", columns_.size(), " columns"));
    }
    row.clear();
    for (JsonTree& cell : cells.members) row.push_back(cell_of(std::move(cell), row.size()));
  }

  const JsonMembers rows_;
};

// Each member of the object has the cells of a column, as an array, or as an object whose keys name
// the rows.
class ColumnCells final : public WholeTable {
 public:
  ColumnCells(std::string text, const JsonMembers& columns) : WholeTable(std::move(text)) {
    for (const uint32_t begin : columns.begins) {
      const JsonMember column = member_at(text_, begin, true);
      const Cell name = parse_json_tree(column.key).to_cell();
      columns_.push_back({std::get<std::string>(name), {}});
      cells_.push_back(
          find_members(text_, static_cast<size_t>(column.value.data() - text_.data())));
      const size_t count = cells_.back().begins.size();
      if (cells_.size() == 1) count_ = count;
      if (count == count_) continue;
      throw Error(Code::kBadData,
                  cat("column ", quoted(columns_.back().name), " has ", counted(count, "cell"),
                      ", and column ", quoted(columns_.front().name), " has ", count_),
                  "", "write as many cells for each column, with null for a missing one");
    }
  }

 private:
  void read(size_t place, Row& row) override {
    row.clear();
    std::string_view key;
    for (size_t i = 0; i < cells_.size(); ++i) {
      const JsonMember cell = member_at(text_, cells_[i].begins[place], cells_[i].is_object);
      if (i > 0 && cell.key != key) {
        throw Error(
            Code::kBadData,
            cat("column ", quoted(columns_[i].name),
                " has its rows in another order, or under other keys, than the first column"),
            "", "write it as rows, as to_json(orient=\"records\") of pandas does");
      }
      key = cell.key;
      row.push_back(cell_of(parse_json_tree(cell.value), i));
    }
  }

  std::vector<JsonMembers> cells_;
};

// One JSON object. Finds out what table it is, if it is one.
class WholeObject {
 public:
  WholeObject(std::string text, size_t begin)
      : text_(std::move(text)), members_(find_members(text_, begin)) {}

  // Null: it is no table.
  std::unique_ptr<RowReader> table() {
    if (auto rows = annotated_pairs()) {
      return std::make_unique<ObjectRows>(std::move(text_), std::move(*rows));
    }
    const std::string_view data = value_of("data"), names = value_of("columns");
    if (data.starts_with('[')) {
      JsonMembers rows = find_members(text_, place_of(data));
      if (is_all(rows, '{')) return std::make_unique<ObjectRows>(std::move(text_), std::move(rows));
      if (is_all(rows, '[') && names.starts_with('[')) {
        const std::string list(names);
        return std::make_unique<ArrayRows>(std::move(text_), list, std::move(rows));
      }
    }
    if (const auto rows = array_of_rows()) {
      return std::make_unique<ObjectRows>(std::move(text_), find_members(text_, *rows));
    }
    // One row of words is no table with a column of words.
    const bool is_sentence = !value_of("tokens").empty() || !value_of("words").empty();
    const bool are_objects = is_all(members_, '{');
    if (are_tables()) {
      if (members_.begins.size() > 1) refuse_tables();
      JsonMembers rows =
          find_members(text_, place_of(member_at(text_, members_.begins[0], true).value));
      return std::make_unique<ObjectRows>(std::move(text_), std::move(rows));
    }
    if (are_objects ? !names_rows() : is_all(members_, '[') && !is_sentence) {
      return std::make_unique<ColumnCells>(std::move(text_), members_);
    }
    if (!are_objects) return nullptr;
    return std::make_unique<ObjectRows>(std::move(text_), std::move(members_));
  }

  std::string text() && { return std::move(text_); }

 private:
  static bool is_number(std::string_view key) {
    return key.size() > 2 &&
           key.substr(1, key.size() - 2).find_first_not_of("0123456789") == std::string_view::npos;
  }

  bool has_numbers(const JsonMembers& members) const {
    return std::ranges::all_of(members.begins, [this](uint32_t begin) {
      return is_number(member_at(text_, begin, true).key);
    });
  }

  // Whether one of the keys is a usual name of a column.
  bool names_column(const JsonMembers& members) const {
    constexpr std::string_view kUsual =
        "text sentence sentence1 question premise query tokens label id";
    return std::ranges::any_of(members.begins, [&](uint32_t begin) {
      const std::string_view key = member_at(text_, begin, true).key;
      return key.size() > 2 && is_one_of(kUsual, key.substr(1, key.size() - 2));
    });
  }

  // Whether the keys of an object of objects name rows and not columns. The keys of pandas' rows
  // are numbers, unless its index has names. Usually there are more rows than columns.
  bool names_rows() const {
    if (has_numbers(members_)) return true;
    const JsonMembers first = find_members(text_, value_place(text_, members_.begins[0], true));
    if (has_numbers(first) || names_column(members_)) return false;
    return names_column(first) || members_.begins.size() > first.begins.size();
  }

  size_t place_of(std::string_view part) const {
    return static_cast<size_t>(part.data() - text_.data());
  }

  // The first member of this name; empty: there is none.
  std::string_view value_of(std::string_view name) const {
    for (const uint32_t begin : members_.begins) {
      if (text_.compare(begin + 1, name.size(), name) != 0) continue;
      const JsonMember member = member_at(text_, begin, true);
      if (member.key.size() == name.size() + 2) return member.value;
    }
    return {};
  }

  // Whether all members, of which there are some, begin so.
  bool is_all(const JsonMembers& members, char beginning) const {
    return !members.begins.empty() && std::ranges::all_of(members.begins, [&](uint32_t begin) {
      return text_[value_place(text_, begin, members.is_object)] == beginning;
    });
  }

  // Whether each member is an array of objects: {"train": [{...}], "test": [{...}]}.
  bool are_tables() const {
    return is_all(members_, '[') && std::ranges::all_of(members_.begins, [this](uint32_t begin) {
             const size_t first =
                 text_.find_first_not_of(kJsonBlanks, value_place(text_, begin, true) + 1);
             return first != std::string::npos && text_[first] == '{';
           });
  }

  // The place of the only array of objects, as in {"results": [{"text": ...}], "count": 60}. Its
  // first object names a usual column, and the object around it does not. nullopt: there is none.
  std::optional<size_t> array_of_rows() const {
    std::optional<size_t> found;
    if (names_column(members_)) return std::nullopt;
    for (const uint32_t begin : members_.begins) {
      const size_t place = value_place(text_, begin, true);
      if (text_[place] != '[') continue;
      const JsonMembers rows = find_members(text_, place);
      if (!is_all(rows, '{') || found) return std::nullopt;
      if (!names_column(find_members(text_, rows.begins[0]))) return std::nullopt;
      found = place;
    }
    return found;
  }

  [[noreturn]] void refuse_tables() const {
    std::string names;
    for (const uint32_t begin :
         std::span(members_.begins).first(std::min<size_t>(members_.begins.size(), 4))) {
      const Cell name = parse_json_tree(member_at(text_, begin, true).key).to_cell();
      names += (names.empty() ? "" : ", ") + quoted(std::get<std::string>(name));
    }
    throw Error(Code::kBadData, cat("holds ", members_.begins.size(), " tables: ", names), "",
                "write each into a file of its own, and name them with --train-data-file and "
                "--eval-data-file");
  }

  // What programs write to annotate texts for spaCy: {"classes": [...], "annotations": [pairs]}. A
  // text that was passed over is null.
  std::optional<JsonMembers> annotated_pairs() const {
    const std::string_view pairs = value_of("annotations");
    if (!pairs.starts_with('[') || value_of("classes").empty()) return std::nullopt;
    JsonMembers found = find_members(text_, place_of(pairs));
    std::erase_if(found.begins, [this](uint32_t begin) {
      return member_at(text_, begin, false).value == "null";
    });
    const bool are_pairs = std::ranges::all_of(found.begins, [this](uint32_t begin) {
      JsonTree pair = parse_json_tree(member_at(text_, begin, false).value);
      return become_object(pair);
    });
    if (found.begins.empty() || !are_pairs) return std::nullopt;
    return found;
  }

  std::string text_;
  JsonMembers members_;
};

}  // namespace

std::unique_ptr<RowReader> make_json_reader(std::unique_ptr<ByteSource> source) {
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
  WholeObject object(std::move(text), begin);
  if (auto table = object.table()) return table;
  text = std::move(object).text();
  if (text.find('\n', begin) < end) {
    throw Error(Code::kBadData, "is one JSON object, and no table", "",
                "write an array of objects, or each object in one line");
  }
  return make_jsonl_reader(joined());
}

}  // namespace berth
