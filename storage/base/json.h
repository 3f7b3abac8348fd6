#pragma once

#include <cstddef>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace berth {

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

}  // namespace berth

// Parses and writes JSON. Only json.cpp instantiates the parser and the writer, because each file
// that did so took seconds longer to compile. A .cpp that looks into a value includes
// <nlohmann/json.hpp> itself.
namespace berth {

using Json = nlohmann::json;                 // members sorted by name
using OrderedJson = nlohmann::ordered_json;  // members in the order of the text

// The deepest nesting of brackets and braces outside of strings. Accepts any bytes.
size_t nesting_depth(std::string_view json);

// Parses a JSON text. The result is discarded (is_discarded()) if the text is not JSON, or if it
// nests deeper than kDeepestJson: recursion over deeper values could overflow the stack. The parser
// stops at a zero byte.
inline constexpr size_t kDeepestJson = 100;
Json parse_json(std::string_view text);
OrderedJson parse_ordered_json(std::string_view text);

// Writes a value on one line, or indented by `indent` spaces per level. Invalid UTF-8 becomes
// U+FFFD.
std::string to_text(const Json& value, int indent = -1);
std::string to_text(const OrderedJson& value, int indent = -1);
// Writes a value in ASCII, with other characters as \uXXXX, like Python's json.dumps().
std::string to_ascii_text(const Json& value);

// parse_ordered_json(), but the objects that the outermost object has under the names in `emptied`
// are empty in the result. They take linear time, where others take a time that is quadratic in the
// number of their members.
OrderedJson parse_ordered_json(std::string_view text,
                               std::initializer_list<std::string_view> emptied);

}  // namespace berth
