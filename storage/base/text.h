#pragma once

#include <cstdint>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

// Concatenates anything that an ostream prints: cat("row ", 7, " has no label").
template <typename... Parts>
std::string cat(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

// Lower-cases ASCII letters only. For names of columns, file suffixes and flags.
std::string lower_ascii(std::string_view text);

// Quotes `text` for use inside a message. Escapes control characters. Cuts the text after at most
// `limit` bytes, between code points, and marks the cut with "...".
std::string quoted(std::string_view text, size_t limit = 60);
// These overloads match exactly, so that argument-dependent lookup does not choose std::quoted from
// <iomanip>. <filesystem> includes that header, and so does <nlohmann/json.hpp>.
inline std::string quoted(std::string& text, size_t limit = 60) {
  return quoted(std::string_view(text), limit);
}
inline std::string quoted(const std::string& text, size_t limit = 60) {
  return quoted(std::string_view(text), limit);
}
inline std::string quoted(const char* text, size_t limit = 60) {
  return quoted(std::string_view(text), limit);
}

// Removes spaces, tabs and line ends from both ends.
std::string_view trimmed(std::string_view text);

// Returns what stands behind the last slash of a path, or all of it.
std::string_view last_part(std::string_view path);

// Parses a text that consists of decimal digits only. Returns nullopt if there is anything else, or
// if the number does not fit 64 bits.
std::optional<uint64_t> parse_number(std::string_view text);

// Splits `text` at every character of `separators` and leaves out empty parts.
std::vector<std::string> parted(std::string_view text, std::string_view separators);

// Returns `count` random letters and digits, for names that no other process will choose.
std::string random_letters(size_t count);

// Formats a size for people: 1536 becomes "1.5 KiB".
std::string human_bytes(uint64_t size_bytes);

}  // namespace berth
