#include "storage/formats/tsv_quotes.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace berth {
namespace {

struct QuotedField {
  size_t end;  // the place behind it
  bool is_quoted, has_doubled_quote;
};

// The field at `at`. nullopt: it breaks CSV's rules. The end is npos where it is cut.
std::optional<QuotedField> read_field(std::string_view text, size_t at, char delimiter) {
  const auto ends_at = [&](size_t place) {
    return place == text.size() || text[place] == delimiter || text[place] == '\n' ||
           text.substr(place, 2) == "\r\n";
  };
  if (at == text.size() || text[at] != '"') {
    size_t end = at;
    while (!ends_at(end)) {
      if (text[end++] == '"') return std::nullopt;
    }
    return QuotedField{end, false, false};
  }
  QuotedField field{std::string_view::npos, true, false};
  for (size_t quote = text.find('"', at + 1); quote != std::string_view::npos;
       quote = text.find('"', quote + 2)) {
    if (quote + 1 < text.size() && text[quote + 1] == '"') {
      field.has_doubled_quote = true;
      continue;
    }
    if (!ends_at(quote + 1)) return std::nullopt;
    field.end = quote + 1;
    break;
  }
  return field;
}

// Whether each whole line has as many fields as the first one, if quotes are text.
bool lines_are_whole(std::string_view text, char delimiter) {
  std::optional<ptrdiff_t> fields;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    if (end == std::string_view::npos) break;
    const std::string_view line = text.substr(begin, end - begin);
    const ptrdiff_t count = std::ranges::count(line, delimiter);
    if (!fields) fields = count;
    if (count != *fields && line.find_first_not_of('\r') != std::string_view::npos) return false;
    begin = end + 1;
  }
  return true;
}

}  // namespace

TsvQuotes find_tsv_quotes(std::string_view text, char delimiter, bool is_all) {
  struct QuoteCounts {
    size_t quoted = 0, others = 0;  // fields behind the header; empty ones do not count
  };
  std::vector<QuoteCounts> columns;
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  bool any = false, any_doubled = false, is_header = true, breaks_rules = false;
  size_t quoted_commas = 0;          // quoted fields that hold a comma
  bool are_quotes_of_commas = true;  // these are all that are quoted, and all that hold one
  for (size_t at = 0, column = 0; at < text.size();) {
    const auto field = read_field(text, at, delimiter);
    any = any || text[at] == '"';
    if (!field || (field->end == std::string_view::npos && is_all)) {
      breaks_rules = true;
      // Another field may still begin with a quote, which is worth a word.
      any = any || text.find("\n\"", at) != std::string_view::npos ||
            text.find(std::string{delimiter, '"'}, at) != std::string_view::npos;
      break;
    }
    if (field->end == std::string_view::npos || (field->end == text.size() && !is_all)) break;
    any_doubled = any_doubled || field->has_doubled_quote;
    if (is_header) columns.emplace_back();
    if (column >= columns.size()) {
      breaks_rules = true;
      break;
    }
    if (!is_header) {
      const bool has_comma = text.substr(at, field->end - at).find(',') != std::string_view::npos;
      quoted_commas += field->is_quoted && has_comma;
      are_quotes_of_commas = are_quotes_of_commas && field->is_quoted == has_comma;
      columns[column].quoted += field->is_quoted;
      columns[column].others += !field->is_quoted && field->end > at;
    }
    at = field->end;
    if (at < text.size() && text[at] == delimiter) {
      ++at;
      ++column;
      continue;
    }
    while (at < text.size() && (text[at] == '\r' || text[at] == '\n')) ++at;
    if (column + 1 != columns.size()) {
      breaks_rules = true;
      break;
    }
    column = 0;
    is_header = false;
  }
  if (!any) return TsvQuotes::kNone;
  if (breaks_rules) return TsvQuotes::kText;
  if (any_doubled || !lines_are_whole(text, delimiter)) return TsvQuotes::kCsv;
  // Excel quotes a field of a TSV because of its comma.
  if (quoted_commas > 1 && are_quotes_of_commas) return TsvQuotes::kCsv;
  bool has_quoted_column = false;
  for (const QuoteCounts& look : columns) {
    // One row, or some of the rows, show no rule.
    if (look.quoted == 1 || (look.quoted > 0 && look.others > 0)) return TsvQuotes::kText;
    has_quoted_column = has_quoted_column || look.quoted > 0;
  }
  return has_quoted_column ? TsvQuotes::kCsv : TsvQuotes::kText;
}

}  // namespace berth
