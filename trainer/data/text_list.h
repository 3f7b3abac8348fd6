#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

// Parses a list of texts or numbers and returns its members as texts; nullopt where `text` is not a
// list. It is written as JSON, as pandas writes a Python list into a CSV (['a', "it's", 1]), or as
// NumPy does (blanks in place of commas).
std::optional<std::vector<std::string>> parse_text_list(std::string_view text);

// The same for a tuple of Python with a comma in it, (1, 'a'), or an empty tuple. Also for an array
// as NumPy and PyTorch show it: array([1, 0]), tensor([1., 0.], dtype=torch.float64).
std::optional<std::vector<std::string>> parse_tuple(std::string_view text);

// Whether the text begins with the bracket of a list or object, and whether brackets enclose it.
// Such a text is meant as a list, even if it cannot be parsed. So it must not be split at blanks or
// commas.
bool begins_list(std::string_view text);
bool is_bracketed(std::string_view text);

}  // namespace berth
