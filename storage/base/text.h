#pragma once

#include <cstdint>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

// Joins anything printable: cat("row ", 7, " has no label").
template <typename... Parts>
std::string cat(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

// ASCII only: names of columns, suffixes, flags.
std::string lower_ascii(std::string_view text);

// `text` as it may stand inside one sentence of a message: control characters escaped, at most
// `limit` bytes (cut at a code point, with "..."), quoted.
std::string quoted(std::string_view text, size_t limit = 60);
// Exact matches, lest argument-dependent lookup prefer std::quoted of <iomanip>, which also
// <filesystem> and so <nlohmann/json.hpp> bring in.
inline std::string quoted(std::string& text, size_t limit = 60) {
  return quoted(std::string_view(text), limit);
}
inline std::string quoted(const std::string& text, size_t limit = 60) {
  return quoted(std::string_view(text), limit);
}
inline std::string quoted(const char* text, size_t limit = 60) {
  return quoted(std::string_view(text), limit);
}

// Without the blanks, tabs and line ends around it.
std::string_view trimmed(std::string_view text);

// A whole text of digits. nullopt: it is none, or too large.
std::optional<uint64_t> parse_number(std::string_view text);

// The parts of `text` between single characters of `separators`, empty ones left out.
std::vector<std::string> parted(std::string_view text, std::string_view separators);

// `count` letters and digits that no other process is likely to choose.
std::string random_letters(size_t count);

// 1536 -> "1.5 KiB", as people read sizes.
std::string human_bytes(uint64_t size_bytes);

}  // namespace berth
