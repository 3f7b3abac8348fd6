#pragma once

#include <string>
#include <string_view>

namespace berth {

// The methods of Python's str that evaluation scripts use, over code points.

// UTF-8 to code points and back. Bytes that are no UTF-8 become U+FFFD, one each.
std::u32string code_points(std::string_view text);
std::string utf8(std::u32string_view text);

// str.lower(); a final sigma is told by whether letters stand around it.
std::u32string lowered(std::u32string_view text);
// str.isalnum()
bool is_alphanumeric(char32_t c);
// str.isspace()
bool is_space(char32_t c);

}  // namespace berth
