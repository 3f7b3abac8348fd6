#include "storage/formats/json_tree.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"

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

// Receives the parser's events, and builds the tree.
class TreeEvents {
 public:
  explicit TreeEvents(JsonTree& root) : root_(root) {}

  bool null() { return add({}); }
  bool boolean(bool truth) { return add(truth); }
  bool number_integer(int64_t number) { return add(number); }
  bool number_unsigned(uint64_t number) {
    if (number > INT64_MAX) return add(static_cast<double>(number));
    return add(static_cast<int64_t>(number));
  }
  bool number_float(double number, const std::string&) { return add(number); }
  bool string(std::string& text) { return add(std::move(text)); }
  bool binary(Json::binary_t&) { return true; }  // never happens in JSON text

  bool start_object(size_t) { return open(JsonTree::Kind::kObject); }
  bool start_array(size_t) { return open(JsonTree::Kind::kArray); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& name) {
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

}  // namespace berth
