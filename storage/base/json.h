#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

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

}  // namespace berth
