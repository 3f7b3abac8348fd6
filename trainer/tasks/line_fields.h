#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace berth {

// A text as a field of a tab-separated line by CSV's rules, as pandas reads and writes it. A text
// with a quotation mark, a tab or a line end is put in quotation marks, and its own are doubled.
// Characters on which a terminal would act are escaped (printable_lines()), because people look at
// these files.
std::string one_field(std::string text);

// The place behind the end of the line that begins at `begin`. Quoted line ends do not end it.
size_t end_of_line(std::string_view lines, size_t begin);

}  // namespace berth
