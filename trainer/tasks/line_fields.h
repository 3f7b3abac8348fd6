#pragma once

#include <string>

namespace berth {

// A text as a field of a tab-separated line, in which tabs and line ends become blanks.
std::string one_field(std::string text);

// The same for text of any kind: one with a quotation mark is put in such marks, and its own are
// doubled.
std::string quoted_field(std::string text);

}  // namespace berth
