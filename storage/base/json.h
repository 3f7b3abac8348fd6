#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

// Parses and writes JSON, and reads the members of its objects. Only json.cpp instantiates the
// parser and the writer, because each file that did so took seconds longer to compile. A .cpp that
// looks into a value includes <nlohmann/json.hpp> itself. All functions but JsonNesting::add() may
// be called by several threads. They throw nothing: a caller sees from the result that a text is
// not JSON.
namespace berth {

using Json = nlohmann::json;                 // members sorted by name
using OrderedJson = nlohmann::ordered_json;  // members in the order of the text

// Parses a JSON text. The result is discarded (is_discarded()) if the text is not JSON, or if it
// nests deeper than kDeepestJson: recursion over deeper values could overflow the stack. The parser
// stops at a zero byte.
inline constexpr size_t kDeepestJson = 100;
Json parse_json(std::string_view text);
OrderedJson parse_ordered_json(std::string_view text);

// parse_ordered_json(), but the objects that the outermost object has under the names in `emptied`
// are empty in the result. They take linear time, where others take a time that is quadratic in the
// number of their members.
OrderedJson parse_ordered_json(std::string_view text,
                               std::initializer_list<std::string_view> emptied);

// Writes a value on one line, or indented by `indent` spaces per level. Invalid UTF-8 becomes
// U+FFFD.
std::string to_text(const Json& value, int indent = -1);
std::string to_text(const OrderedJson& value, int indent = -1);
// Writes a value in ASCII, with other characters as \uXXXX, like Python's json.dumps().
std::string to_ascii_text(const Json& value);

// Reads the members of an object by their names, each as a value of one type. A member that is null
// counts as absent. Borrows the object.
class JsonObject {
 public:
  // Throws an error about the member `name`. `problem` says what it is not: "is not text".
  using Refuse = std::function<void(const std::string& name, const std::string& problem)>;

  // A null pointer and a value that is no object have no members. A member of another type than is
  // asked for is refused by `refuse`. Without `refuse` it counts as absent.
  explicit JsonObject(const Json* object, Refuse refuse = nullptr);
  explicit JsonObject(const Json& object, Refuse refuse = nullptr)
      : JsonObject(&object, std::move(refuse)) {}
  explicit JsonObject(Json&&, Refuse refuse = nullptr) = delete;  // it borrows the object

  // Whether the value is an object.
  bool is_there() const { return object_ != nullptr; }

  // Return a null pointer or nullopt if the member is absent. find() takes any type.
  const Json* find(const std::string& name) const;
  const Json* object(const std::string& name) const;
  const Json* list(const std::string& name) const;
  // An object's members; none if it is absent.
  JsonObject within(const std::string& name) const { return JsonObject(object(name), refuse_); }
  // A list's values; an empty list if it is absent.
  const Json& values(const std::string& name) const;
  std::optional<std::string> text(const std::string& name) const;
  std::optional<int64_t> integer(const std::string& name) const;
  std::optional<uint64_t> count(const std::string& name) const;  // a whole number, 0 or more
  std::optional<double> number(const std::string& name) const;
  std::optional<bool> flag(const std::string& name) const;

  // All members that are numbers, or texts.
  std::map<std::string, double> all_numbers() const;
  std::map<std::string, std::string, std::less<>> all_texts() const;

 private:
  // Returns `fits`, or refuses the member.
  bool accept(bool fits, const std::string& name, const char* problem) const;

  const Json* const object_;  // null: has no members
  const Refuse refuse_;
};

// Tracks how deeply a JSON text is nested, character by character, from its brackets, braces and
// strings. Accepts any bytes: a bracket that closes nothing is ignored.
class JsonNesting {
 public:
  void add(char next) {
    if (is_escaped_) {
      is_escaped_ = false;
    } else if (in_string_) {
      is_escaped_ = next == '\\';
      in_string_ = next != '"';
    } else if (next == '"') {
      in_string_ = true;
    } else if (next == '[' || next == '{') {
      ++depth_;
    } else if ((next == ']' || next == '}') && depth_ > 0) {
      --depth_;
    }
  }

  // The objects and arrays that are open.
  size_t depth() const { return depth_; }
  bool in_string() const { return in_string_; }

 private:
  size_t depth_ = 0;
  bool in_string_ = false, is_escaped_ = false;
};

// The deepest nesting of brackets and braces outside of strings. Accepts any bytes.
size_t nesting_depth(std::string_view json);

}  // namespace berth
