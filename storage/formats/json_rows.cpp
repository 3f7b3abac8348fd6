#include "storage/formats/json_rows.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "storage/formats/row_readers.h"
#include "storage/formats/text_lines.h"

namespace berth {
namespace {

constexpr size_t kDeepest = 256;

void append_scalar(const Cell& scalar, std::string& text) {
  const auto append = [&](const auto& value) {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::monostate>) {
      text += "null";
    } else {
      text += to_text(Json(value));
    }
  };
  std::visit(append, scalar);
}

void append_text(const JsonTree& tree, std::string& text) {
  if (tree.kind == JsonTree::Kind::kScalar) return append_scalar(tree.scalar, text);
  const bool is_object = tree.kind == JsonTree::Kind::kObject;
  text += is_object ? '{' : '[';
  for (size_t i = 0; i < tree.members.size(); ++i) {
    if (i > 0) text += ',';
    if (is_object) text += to_text(Json(tree.keys[i])) + ":";
    append_text(tree.members[i], text);
  }
  text += is_object ? '}' : ']';
}

// Whether a number that the parser takes for a double is an integer beyond 64 bits. It becomes a
// text, because many such integers are one double, and they may be ids.
bool is_beyond_64_bits(std::string_view digits) {
  return digits.find_first_of(".eE") == std::string_view::npos;
}

// The keys of the objects that are open, from the outermost to the innermost.
class OpenKeys {
 public:
  void open() {
    if (depth_++ == levels_.size()) levels_.emplace_back();
    levels_[depth_ - 1].few.clear();
    levels_[depth_ - 1].many.clear();
  }
  void close() { --depth_; }
  void reset() { depth_ = 0; }

  // Throws kBadData where the innermost object has the key already.
  void add(const std::string& key) {
    Level& level = levels_[depth_ - 1];
    constexpr size_t kFew = 32;
    const bool is_many = level.few.size() == kFew;
    const bool is_known = std::ranges::find(level.few, key) != level.few.end() ||
                          (is_many && !level.many.insert(key).second);
    if (is_known) {
      throw Error(Code::kBadData, cat("has the key ", quoted(key), " twice in one object"), "",
                  "give each key once: Python takes the last value, and other programs the first");
    }
    if (!is_many) level.few.push_back(key);
  }

 private:
  struct Level {
    std::vector<std::string> few{};
    std::unordered_set<std::string> many{};
  };

  std::vector<Level> levels_;  // kept where they are closed
  size_t depth_ = 0;
};

// Receives the parser's events, and builds the tree.
class TreeEvents {
 public:
  explicit TreeEvents(JsonTree& root) : root_(root) {}

  bool null() { return add({}); }
  bool boolean(bool truth) { return add(truth); }
  bool number_integer(int64_t number) { return add(number); }
  bool number_unsigned(uint64_t number) {
    if (number > INT64_MAX) return add(std::to_string(number));
    return add(static_cast<int64_t>(number));
  }
  bool number_float(double number, const std::string& digits) {
    return is_beyond_64_bits(digits) ? add(digits) : add(number);
  }
  bool string(std::string& text) { return add(std::move(text)); }
  bool binary(Json::binary_t&) { return true; }  // never happens in JSON text

  bool start_object(size_t) {
    keys_.open();
    return open(JsonTree::Kind::kObject);
  }
  bool start_array(size_t) { return open(JsonTree::Kind::kArray); }
  bool end_object() {
    keys_.close();
    return close();
  }
  bool end_array() { return close(); }
  bool key(std::string& name) {
    keys_.add(name);
    open_.back()->keys.push_back(std::move(name));
    return true;
  }

  bool parse_error(size_t byte, const std::string&, const Json::exception&) {
    throw Error(Code::kBadData, cat("is not valid JSON at byte ", byte));
  }

 private:
  JsonTree& place() { return open_.empty() ? root_ : open_.back()->members.emplace_back(); }

  bool add(Cell scalar) {
    place().scalar = std::move(scalar);
    return true;
  }

  bool open(JsonTree::Kind kind) {
    if (open_.size() == kDeepest) {
      throw Error(Code::kBadData, cat("nests deeper than ", kDeepest, " levels"));
    }
    JsonTree& opened = place();
    opened.kind = kind;
    open_.push_back(&opened);
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  JsonTree& root_;
  OpenKeys keys_;
  std::vector<JsonTree*>
      open_;  // from the outermost to the innermost; none of them moves while open
};

}  // namespace

const JsonTree* JsonTree::find(std::string_view key) const {
  const auto found = std::ranges::find(keys, key);
  return found == keys.end() ? nullptr : &members[static_cast<size_t>(found - keys.begin())];
}

JsonTree* JsonTree::find(std::string_view key) {
  return const_cast<JsonTree*>(std::as_const(*this).find(key));
}

Cell JsonTree::to_cell() && {
  if (kind == Kind::kScalar) return std::move(scalar);
  std::string text;
  append_text(*this, text);
  return text;
}

std::string_view plain_json(std::string_view text, std::string& storage) {
  constexpr std::string_view kNaN = "NaN", kInfinity = "Infinity";
  if (text.find(kNaN) == std::string_view::npos && text.find(kInfinity) == std::string_view::npos) {
    return text;
  }
  storage.clear();
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = text.substr(i);
    if (!in_string && rest.starts_with(kNaN)) {
      storage += "null";
      i += kNaN.size() - 1;
    } else if (!in_string && rest.starts_with(kInfinity)) {
      const bool is_negative = storage.ends_with('-');
      if (is_negative) storage.pop_back();
      storage += is_negative ? "\"-inf\"" : "\"inf\"";
      i += kInfinity.size() - 1;
    } else {
      storage += text[i];
      if (text[i] == '"') in_string = !in_string;
      if (in_string && text[i] == '\\' && i + 1 < text.size()) storage += text[++i];
    }
  }
  return storage;
}

bool become_object(JsonTree& pair) {
  if (pair.kind != JsonTree::Kind::kArray || pair.members.size() != 2) return false;
  JsonTree &text = pair.members[0], &annotations = pair.members[1];
  const bool is_text =
      text.kind == JsonTree::Kind::kScalar && std::holds_alternative<std::string>(text.scalar);
  if (!is_text || annotations.kind != JsonTree::Kind::kObject) return false;
  JsonTree object{.kind = JsonTree::Kind::kObject};
  object.keys.emplace_back("text");
  object.members.push_back(std::move(text));
  for (size_t i = 0; i < annotations.keys.size(); ++i) {
    if (annotations.keys[i] == "text") continue;
    object.keys.push_back(std::move(annotations.keys[i]));
    object.members.push_back(std::move(annotations.members[i]));
  }
  pair = std::move(object);
  return true;
}

JsonTree parse_json_tree(std::string_view text) {
  std::string storage;
  text = plain_json(text, storage);
  JsonTree root;
  TreeEvents events(root);
  Json::sax_parse(text.begin(), text.end(), &events);
  return root;
}

namespace {

// Receives the parser's events, and looks at the keys alone.
class KeyEvents {
 public:
  bool null() { return true; }
  bool boolean(bool) { return true; }
  bool number_integer(int64_t) { return true; }
  bool number_unsigned(uint64_t) { return true; }
  bool number_float(double, const std::string&) { return true; }
  bool string(std::string&) { return true; }
  bool binary(Json::binary_t&) { return true; }
  bool start_object(size_t) { return keys_.open(), true; }
  bool end_object() { return keys_.close(), true; }
  bool start_array(size_t) { return true; }
  bool end_array() { return true; }
  bool key(std::string& name) { return keys_.add(name), true; }
  bool parse_error(size_t, const std::string&, const Json::exception&) { return false; }

 private:
  OpenKeys keys_;
};

}  // namespace

void refuse_repeated_keys(std::string_view text) {
  KeyEvents events;
  Json::sax_parse(text.begin(), text.end(), &events);
}

namespace {

// Receives the parser's events for one object and fills a row. Values of the outer object become
// cells; deeper values become JSON text. Because no tree is built, nothing recurses and memory is
// bounded by the length of the text.
class ObjectEvents {
 public:
  // If `learn`, a key that is not a column yet becomes one.
  ObjectEvents(std::vector<Column>& columns, std::unordered_map<std::string, size_t>& index,
               Row& row, bool learn, std::set<std::string>& late_keys, OpenKeys& keys)
      : columns_(columns),
        index_(index),
        row_(row),
        learn_(learn),
        late_keys_(late_keys),
        keys_(keys) {}

  bool null() { return value("null", std::monostate()); }
  bool boolean(bool truth) { return value(truth ? "true" : "false", truth); }
  bool number_integer(int64_t number) { return value(std::to_string(number), number); }
  bool number_unsigned(uint64_t number) {
    const std::string digits = std::to_string(number);
    if (number > INT64_MAX) return value(digits, std::string(digits));
    return number_integer(static_cast<int64_t>(number));
  }
  bool number_float(double number, const std::string& digits) {
    return is_beyond_64_bits(digits) ? value(digits, std::string(digits)) : value(digits, number);
  }
  bool string(std::string& text) {
    return depth_ > 1 ? value(to_text(Json(text)), text) : value({}, std::move(text));
  }
  bool binary(Json::binary_t&) { return true; }  // never happens in JSON text

  bool start_object(size_t) {
    keys_.open();
    return open('{');
  }
  bool start_array(size_t) { return open('['); }
  bool end_object() {
    keys_.close();
    return close('}');
  }
  bool end_array() { return close(']'); }

  bool key(std::string& name) {
    keys_.add(name);
    if (depth_ > 1) {
      separate();
      nested_ += to_text(Json(name)) + ":";
      first_ = true;
      return true;
    }
    const auto found = index_.find(name);
    column_ = found != index_.end() ? found->second : columns_.size();
    if (found == index_.end() && !learn_ && late_keys_.size() < kMostLate) late_keys_.insert(name);
    if (found == index_.end() && learn_) {
      index_.emplace(name, columns_.size());
      columns_.push_back({std::move(name), {}});
      row_.emplace_back();
    }
    return true;
  }

  bool parse_error(size_t byte, const std::string&, const Json::exception&) {
    throw Error(Code::kBadData, cat("is not valid JSON at byte ", byte));
  }

 private:
  void separate() {
    if (!first_) nested_ += ',';
    first_ = false;
  }

  template <typename T>
  bool value(std::string_view json, T&& cell) {
    if (depth_ == 0) not_an_object();
    if (depth_ == 1) return store(std::forward<T>(cell));
    separate();
    nested_ += json;
    return true;
  }

  template <typename T>
  bool store(T&& cell) {
    if (column_ < row_.size()) row_[column_].template emplace<std::decay_t<T>>(std::move(cell));
    return true;
  }

  bool open(char bracket) {
    if (depth_ == 0 && bracket != '{') not_an_object();
    if (++depth_ > kDeepest) {
      throw Error(Code::kBadData, cat("nests deeper than ", kDeepest, " levels"));
    }
    if (depth_ == 2) nested_.clear(), first_ = true;
    if (depth_ >= 2) separate(), nested_ += bracket;
    first_ = true;
    return true;
  }

  bool close(char bracket) {
    first_ = false;
    if (--depth_ == 0) return true;
    nested_ += bracket;
    if (depth_ > 1) return true;
    if (column_ < columns_.size()) columns_[column_].is_nested = true;
    return store(std::string(nested_));
  }

  [[noreturn]] static void not_an_object() {
    throw Error(Code::kBadData, "is not a JSON object", "",
                "each row is an object, {...}, or a pair [\"text\", {\"entities\": [...]}]");
  }

  std::vector<Column>& columns_;
  std::unordered_map<std::string, size_t>& index_;
  static constexpr size_t kMostLate = 3;

  Row& row_;
  const bool learn_;
  std::set<std::string>& late_keys_;  // that are no columns, because the first object lacks them
  OpenKeys& keys_;
  size_t depth_ = 0, column_ = 0;
  std::string nested_;  // JSON text of the nested value parsed so far
  bool first_ = true;   // nested_ ends with a bracket or colon: no comma yet
};

class Lines final : public JsonTexts {
 public:
  explicit Lines(std::unique_ptr<ByteSource> source) : lines_(std::move(source)) {}

  bool next(std::string_view& text) override {
    do {
      if (!lines_.next(text)) return false;
    } while (text.find_first_not_of(" \t\r") == std::string_view::npos);
    return true;
  }
  std::string position() const override { return line_position(lines_.number()); }

 private:
  TextLines lines_;
};

// The object that an array stands for, or else the text as it is.
std::string_view as_object(std::string_view text, std::string& storage) {
  if (text.find_first_not_of(kJsonBlanks) != text.find('[')) return text;
  JsonTree pair = parse_json_tree(text);
  if (!become_object(pair)) return text;
  Cell object = std::move(pair).to_cell();
  storage = std::move(std::get<std::string>(object));
  return storage;
}

// What people write in place of one object of JSON. Empty: something else.
std::string why_no_object(std::string_view text) {
  text = trimmed(text);
  const auto has = [&](std::string_view part) { return text.find(part) != text.npos; };
  if (text.starts_with('<')) {
    return "the file seems to be a web page, such as a page to sign in: fetch it again";
  }
  if (text == "[" || text.starts_with("[{"))
    return "a file that is one array of objects is called .json";
  if (text.starts_with("//") || text.starts_with('#')) return "JSON has no comments";
  if (!text.starts_with('{') && !text.starts_with('[')) {
    return "the file does not begin as JSON does; its name ends in .csv, .tsv or .txt if it is one";
  }
  if (text.starts_with("{'")) {
    return "it is rather a dictionary of Python, which json.dumps writes as JSON";
  }
  if (text.ends_with(',')) {
    return "no comma stands behind a line of JSON lines; with brackets around all lines, the file "
           "is an array";
  }
  if (text.starts_with('{') && !text.ends_with('}')) {
    return "each line holds one whole object, as jq -c . writes it";
  }
  if (has("}{") || has("} {")) return "each line holds one object alone, as jq -c . writes it";
  if (has(",}") || has(", }") || has(",]") || has(", ]")) {
    return "no comma stands before a closing bracket";
  }
  if (std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20; })) {
    return "a tab or another control character stands in a text; JSON writes it as \\t or \\u0009";
  }
  if (has("\\ud") || has("\\uD")) {
    return "one of the escapes \\ud800 to \\udfff may lack the other half of its character";
  }
  return "";
}

class JsonObjectsReader final : public RowReader {
 public:
  explicit JsonObjectsReader(std::unique_ptr<JsonTexts> texts) : texts_(std::move(texts)) {
    has_first_ = parse_next(first_, true);
    if (!has_first_) throw Error(Code::kBadData, "is empty");
  }

  std::span<const Column> columns() const override { return columns_; }
  std::string position() const override { return texts_->position(); }

  std::vector<Finding> findings() const override {
    if (late_keys_.empty()) return {};
    const std::string names = joined(late_keys_, ", ", Quoted());
    return {
        warning(cat("the first object lacks ", names,
                    ", so later objects' values of this name are not read; write all names in the "
                    "first one"))};
  }

  bool next(Row& row) override {
    if (!has_first_) return parse_next(row, false);
    row = std::move(first_);
    has_first_ = false;
    return true;
  }

 private:
  bool parse_next(Row& row, bool learn) {
    std::string_view text;
    if (!texts_->next(text)) return false;
    row.assign(columns_.size(), {});
    keys_.reset();
    ObjectEvents events(columns_, index_, row, learn, late_keys_, keys_);
    try {
      text = as_object(plain_json(text, storage_), object_);
      Json::sax_parse(text.begin(), text.end(), &events);
    } catch (const Error& error) {
      const std::string hint = why_no_object(text);
      if (error.code() != Code::kBadData || hint.empty() || !is_of_syntax(error, text)) {
        throw error.at(position());
      }
      throw Error(error.code(), error.problem(), position(), hint);
    }
    return true;
  }

  // Values that are no objects have a hint already, but for arrays of objects.
  static bool is_of_syntax(const Error& error, std::string_view text) {
    return error.problem().starts_with("is not valid JSON") ||
           (error.problem() == "is not a JSON object" && trimmed(text).starts_with("[{"));
  }

  const std::unique_ptr<JsonTexts> texts_;
  std::vector<Column> columns_;
  std::unordered_map<std::string, size_t> index_;
  std::set<std::string> late_keys_;
  OpenKeys keys_;  // of the text that is parsed
  Row first_;
  bool has_first_ = false;
  std::string storage_, object_;
};

}  // namespace

std::unique_ptr<RowReader> make_jsonl_reader(std::unique_ptr<ByteSource> source) {
  return make_json_objects_reader(std::make_unique<Lines>(std::move(source)));
}

std::unique_ptr<RowReader> make_json_objects_reader(std::unique_ptr<JsonTexts> texts) {
  return std::make_unique<JsonObjectsReader>(std::move(texts));
}

}  // namespace berth
