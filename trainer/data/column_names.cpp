#include "trainer/data/column_names.h"

#include <algorithm>

#include "storage/base/text.h"
#include "trainer/data/cell_text.h"

namespace berth {
namespace {

// Whether a name rather is a line that was not split.
bool holds_delimiter(std::string_view name) {
  return name.find_first_of(",;|\t~^ ") != std::string_view::npos;
}

// Whether a name rather is a value of a row: a number, or a long text.
bool is_value(std::string_view name) {
  constexpr size_t kLongName = 60;
  return name.size() > kLongName || parse_real(name);
}

}  // namespace

std::string list_columns(std::span<const Column> columns) {
  std::string text;
  for (const Column& column : columns.first(std::min<size_t>(columns.size(), 20))) {
    text += (text.empty() ? "" : ", ") + quoted(column.name);
  }
  if (columns.empty()) return "the table has no columns";
  text = "the columns are " + text + (columns.size() > 20 ? ", ..." : "");
  const std::string& first = columns[0].name;
  if (first.starts_with("<!") || first.starts_with("<html")) {
    return text + "; the file is a web page, as where a download asks to sign in: fetch it again";
  }
  if (first.starts_with("{\"")) {
    return text + "; the file is rather JSON: one with an object in each line is called .jsonl";
  }
  if (columns.size() == 1 && columns[0].name.starts_with('#')) {
    return text + "; if this is a comment, remove it, so that the first line has the names";
  }
  if (columns.size() == 1 && holds_delimiter(columns[0].name)) {
    return text + "; --delimiter names the character between the fields of CSV and TSV files";
  }
  if (std::ranges::any_of(columns, [](const Column& column) { return is_value(column.name); })) {
    text +=
        "; if these are the values of a row, write a line with the names of the columns above "
        "it";
  }
  return text;
}

bool names_rows(std::string_view name) {
  constexpr std::string_view kNames[] = {"",     "id",  "ids",  "idx",  "index",  "qid",
                                         "guid", "uid", "uuid", "row",  "nr",     "no",
                                         "#",    "num", "key",  "line", "number", "pk"};
  const std::string plain = lower_ascii(trimmed(name));
  return std::ranges::find(kNames, plain) != std::end(kNames) || plain.starts_with("unnamed:") ||
         plain.ends_with("_id") || plain.ends_with(" id");
}

std::vector<std::string> other_labels(std::span<const Column> columns, size_t label,
                                      std::span<const size_t> used) {
  constexpr std::string_view kNames[] = {"target",    "class",   "category", "intent",
                                         "sentiment", "emotion", "topic",    "polarity",
                                         "subject",   "genre",   "stars",    "rating"};
  const auto may_be = [&](size_t column) {
    const std::string name = lower_ascii(trimmed(columns[column].name));
    return std::ranges::find(kNames, name) != std::end(kNames);
  };
  std::vector<std::string> others;
  for (size_t i = 0; i < columns.size() && may_be(label); ++i) {
    if (may_be(i) && std::ranges::find(used, i) == used.end()) {
      others.push_back(quoted(columns[i].name));
    }
  }
  return others;
}

std::optional<size_t> find_weights(std::span<const Column> columns) {
  constexpr std::string_view kNames[] = {"weight", "weights", "sample_weight", "example_weight"};
  for (size_t i = 0; i < columns.size(); ++i) {
    const std::string name = lower_ascii(trimmed(columns[i].name));
    if (std::ranges::find(kNames, name) != std::end(kNames)) return i;
  }
  return std::nullopt;
}

}  // namespace berth
