#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

// A list of texts or numbers, as texts; nullopt where `text` is none. It is JSON's, Python's as
// pandas writes it into a CSV (['a', "it's", 1]), or NumPy's (the same, with blanks in place of
// commas).
std::optional<std::vector<std::string>> parse_text_list(std::string_view text);

// Whether it begins as a list or object, or is enclosed by their brackets: then it is one, however
// odd, and not to be split where blanks or commas are.
bool begins_list(std::string_view text);
bool is_bracketed(std::string_view text);

}  // namespace berth
