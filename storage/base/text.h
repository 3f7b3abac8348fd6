#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

// Small functions on texts: for messages, names, numbers and positions. Thread-safe. Malformed text
// is no error: a function says what it makes of it.
namespace berth {

// Texts of data, names of files and answers of servers may contain characters that a terminal acts
// on instead of showing them: control characters (C0, DEL and C1, such as ESC, BEL and CSI),
// characters that change the direction of the text around them, and line separators. Other
// characters are invisible, such as zero-width spaces and tags: they can hide a text in another one
// (Boucher and Anderson 2021, arXiv:2106.09898). Bytes that are not UTF-8 may be control characters
// of another encoding. Whatever is printed for people goes through one of these functions.

// Writes such characters as "\x1b", "\u202e" or "\U000e0041". A line end is one of them.
std::string printable(std::string_view text);

// The same for a text of several lines: line ends and tabs stay.
std::string printable_lines(std::string_view text);

// The same for a JSON text, which stays the same value: they become "\u001b" inside its strings.
// Line ends stay.
std::string printable_json(std::string_view json);

// Concatenates anything that an ostream prints: cat("row ", 7, " has no label").
template <typename... Parts>
std::string cat(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

// printf of the standard library into a text.
[[gnu::format(printf, 1, 2)]] std::string formatted(const char* format, ...);

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

// The first bytes of `text`, at most `limit` and up to the end of a character.
std::string_view beginning(std::string_view text, size_t limit);
// The same, and "…" where there are more.
std::string shortened(std::string_view text, size_t limit);

// quoted() as an object, such as joined() takes.
struct Quoted {
  std::string operator()(std::string_view text) const { return quoted(text); }
};

// Joins the texts or whole numbers that `text_of` makes of the members of a range. Empty texts
// before the first one with characters are left out.
template <typename Range, typename TextOf = std::identity>
std::string joined(const Range& range, std::string_view separator, const TextOf& text_of = {}) {
  std::string all;
  for (const auto& member : range) {
    if (!all.empty()) all += separator;
    if constexpr (std::integral<std::remove_cvref_t<decltype(std::invoke(text_of, member))>>) {
      all += std::to_string(std::invoke(text_of, member));
    } else {
      all += std::invoke(text_of, member);
    }
  }
  return all;
}

// Joins the first `most` members by commas, and counts the others: "a, b and 5 more".
template <typename Range>
std::string joined_first(const Range& range, size_t most) {
  std::string text;
  size_t count = 0;
  for (const auto& member : range) {
    if (count++ == most) return cat(text, " and ", range.size() - most, " more");
    text += cat(text.empty() ? "" : ", ", member);
  }
  return text;
}

// "a, b and c"
std::string enumerated(const std::vector<std::string>& texts);

// Removes spaces, tabs and line ends from both ends.
std::string_view trimmed(std::string_view text);

// Returns what stands behind the last slash of a path, or all of it.
std::string_view last_part(std::string_view path);

// Whether the text has digits, and nothing else.
inline bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

// Whether a byte is of a letter or a digit of ASCII, or of a character beyond ASCII.
bool is_word_byte(char byte);

// Parses a text that consists of decimal digits only. Returns nullopt if there is anything else, or
// if the number does not fit 64 bits.
std::optional<uint64_t> parse_number(std::string_view text);

// Splits `text` at every character of `separators` and leaves out empty parts.
std::vector<std::string> parted(std::string_view text, std::string_view separators);

// Returns the parts of `text` between blanks.
std::vector<std::string_view> words_in(std::string_view text);

// Returns the place of `word` among words_in(text). Empty: it is none of them.
std::string_view find_word(std::string_view text, std::string_view word);
inline bool is_one_of(std::string_view words, std::string_view word) {
  return !find_word(words, word).empty();
}

// Returns `count` random letters and digits, for names that no other process will choose.
std::string random_letters(size_t count);

// Formats a size for people: 1536 becomes "1.5 KiB".
std::string human_bytes(uint64_t size_bytes);

// A number with its noun, for messages: "1 row", "2 rows". For nouns whose plural ends in a mere s.
template <std::integral Number>
std::string counted(Number count, std::string_view noun) {
  return cat(count, " ", noun, count == 1 ? "" : "s");
}

// Positions in valid UTF-8 text, counted in code points as Python does.

inline bool begins_code_point(char byte) { return (static_cast<uint8_t>(byte) & 0xC0) != 0x80; }

inline uint32_t code_point_count(std::string_view text) {
  uint32_t count = 0;
  for (const char byte : text) count += begins_code_point(byte);
  return count;
}

// Returns the byte offset of code point number `place` (from 0), or text.size() if there is no such
// code point.
inline size_t code_point_offset(std::string_view text, uint32_t place) {
  size_t byte = 0;
  for (uint32_t passed = 0; byte < text.size(); ++byte) {
    if (begins_code_point(text[byte]) && passed++ == place) break;
  }
  return byte;
}

// Levenshtein 1966: the least number of insertions, deletions and substitutions of bytes that turn
// `a` into `b`.
size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace berth
