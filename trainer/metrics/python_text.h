#pragma once

#include <string>
#include <string_view>

namespace berth {

// The methods of Python's str that evaluation scripts use. Scores equal the scripts' scores only if
// characters beyond ASCII are treated as Python treats them.

// The code points of UTF-8. Each byte that is not valid becomes U+FFFD.
std::u32string code_points(std::string_view text);

// str.lower(). A capital sigma becomes a final sigma where a letter stands before it and none
// after.
std::u32string lowered(std::u32string_view text);
// str.isalnum()
bool is_alphanumeric(char32_t c);
// str.isspace()
bool is_space(char32_t c);

}  // namespace berth
