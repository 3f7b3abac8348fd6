#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

// JSON text to values and back. The one place that parses and writes it: each file that did so
// itself took seconds longer to compile. Who looks into a value includes <nlohmann/json.hpp>, in
// its .cpp.
namespace berth {

using Json = nlohmann::json;                 // members sorted by name
using OrderedJson = nlohmann::ordered_json;  // members as written

// How deep brackets stand in brackets, those in texts aside. Of any bytes.
size_t nesting_depth(std::string_view json);

// A value of a depth that recursion can follow. Discarded (is_discarded()) for what is not JSON and
// for what nests deeper than kDeepestJson. The parser takes a zero byte for the end.
inline constexpr size_t kDeepestJson = 100;
Json parse_json(std::string_view text);
OrderedJson parse_ordered_json(std::string_view text);

// On one line, or with `indent` spaces a level. What is not UTF-8 becomes U+FFFD.
std::string to_text(const Json& value, int indent = -1);
std::string to_text(const OrderedJson& value, int indent = -1);
// The same in ASCII, what is not as \uXXXX: what Python's json.dumps() makes of a text.
std::string to_ascii_text(const Json& value);

}  // namespace berth
