#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "storage/formats/row_reader.h"

namespace berth {

// The text of a cell that holds a list of words, joined by blanks, where the column has a usual
// name for words: tokens, words. nullopt: the cell is a text itself. Throws kBadData, naming the
// column, where the cell is another list or an object of the file.
std::optional<std::string> joined_words(const Column& column, std::string_view cell,
                                        bool are_texts);

// Throws kBadData: the column should hold `what`, and `cell` is the JSON text of a list or object.
[[noreturn]] void refuse_nested(const std::string& column, std::string_view cell, const char* what);

}  // namespace berth
