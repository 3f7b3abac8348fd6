#pragma once

#include <string>
#include <string_view>

namespace berth {

// Writes the cleaned form of `text`, which is UTF-8, to `cleaned`:
//   - controls and invisible characters are removed (CorpusCharacters::kControl), and so are
//     malformed bytes; the joiners U+200C and U+200D stay, which Persian and emoji need;
//   - each run of blanks and line ends becomes one line feed where it has a line end, otherwise one
//     space; those at both ends are removed;
//   - the result is in Unicode's normalization form C (UAX 15), but for the order of several marks
//   on
//     one letter where one of them is newer than Unicode 8.
// Cleaning a cleaned text does not change it. Thread-safe.
void clean_text(std::string_view text, std::string& cleaned);

// Returns valid UTF-8 in normalization form C.
std::string composed_text(std::string_view text);

}  // namespace berth
