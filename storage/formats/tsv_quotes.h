#pragma once

#include <string_view>

namespace berth {

enum class TsvQuotes {
  kNone,  // no field begins with a quote
  kText,  // quotes are a part of the texts, as in GLUE's files
  kCsv,   // fields are quoted by CSV's rules, as pandas quotes them
};

// Looks at the beginning of a table with `delimiter` between its fields. CSV's writers quote a
// field that contains a quote, a delimiter or a line end, or they quote all fields of a column.
// They double the quotes inside. So quotes are text if one field breaks these rules, or if no field
// shows that the rules are followed. `is_all`: the text is all of the table, and not cut anywhere.
TsvQuotes find_tsv_quotes(std::string_view text, char delimiter, bool is_all);

}  // namespace berth
