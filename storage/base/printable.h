#pragma once

#include <string>
#include <string_view>

namespace berth {

// Texts of data, names of files and answers of servers may contain characters that a terminal acts
// on instead of showing them: control characters (C0, DEL and C1, such as ESC, BEL and CSI),
// characters that change the direction of the text around them (Boucher and Anderson 2021), and
// line separators. Bytes that are not UTF-8 may be control characters of another encoding. Whatever
// is printed for people goes through one of these functions.

// Writes such characters as "\x1b" or "\u202e". A line end is one of them.
std::string printable(std::string_view text);

// The same for a text of several lines: line ends and tabs stay.
std::string printable_lines(std::string_view text);

// The same for a JSON text, which stays the same value: they become "\u001b" inside its strings.
// Line ends stay.
std::string printable_json(std::string_view json);

}  // namespace berth
