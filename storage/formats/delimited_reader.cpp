#include "storage/formats/delimited_reader.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/formats/row_readers.h"
#include "storage/formats/text_lines.h"
#include "storage/formats/utf8.h"

namespace berth {
namespace {

// Why a row may have more or fewer fields than the header. Empty: it cannot be known.
std::string why_not_as_many(const Row& row, size_t names) {
  const auto any = [&](const auto& says) { return std::ranges::any_of(row, says); };
  const auto has_escape = [](const Cell& cell) {
    return trimmed_text(cell).find("\x1B$") != std::string_view::npos;
  };
  if (any(has_escape)) {
    return "the file seems to be in ISO-2022-JP: iconv -f ISO-2022-JP -t UTF-8 converts it";
  }
  const auto begins_quote = [](const Cell& cell) { return trimmed_text(cell).starts_with('"'); };
  if (row.size() < names) {
    const bool has_delimiter =
        row.size() == 1 && trimmed_text(row[0]).find_first_of(",;\t|") != std::string_view::npos;
    return has_delimiter ? "the line may be in quotes as a whole, or have another delimiter than "
                           "the header: --delimiter names it, and each field has its own quotes"
                         : "";
  }
  if (any(begins_quote)) {
    return "a quote encloses a field only where it follows the delimiter without a blank";
  }
  if (any([](const Cell& cell) { return trimmed_text(cell).starts_with('\''); })) {
    return "fields are enclosed in double quotes, not in single ones";
  }
  if (any([](const Cell& cell) { return trimmed_text(cell).ends_with('\\'); })) {
    return "a backslash does not escape the delimiter: enclose such a field in double quotes";
  }
  if (row.size() == names + 1) {
    return "if the text holds the delimiter, enclose it in double quotes; if each line has a field "
           "more, give it a name in the header";
  }
  return "if the text holds the delimiter, enclose it in double quotes";
}

}  // namespace

void DelimitedReader::append_field(std::string_view text, Row& fields) {
  if (text.empty()) {
    fields.emplace_back();
  } else {
    fields.emplace_back(std::in_place_type<std::string>, text);
  }
}

bool DelimitedReader::next_record(Row& fields) {
  std::string_view line;
  do {
    if (!lines_.next(line)) return false;
  } while (line.empty());
  record_line_ = lines_.number();
  fields.clear();
  split(line, fields);
  return true;
}

void DelimitedReader::read_header() {
  Row names;
  if (!next_record(names)) throw Error(Code::kBadData, "is empty");
  std::unordered_set<std::string> seen;
  for (Cell& cell : names) {
    auto* text = std::get_if<std::string>(&cell);
    std::string_view title = text == nullptr ? std::string_view() : trimmed(*text);
    while (title.starts_with(kByteOrderMark)) title.remove_prefix(kByteOrderMark.size());
    columns_.push_back({std::string(title), {}});
    const std::string& name = columns_.back().name;
    if (!name.empty() && !seen.insert(name).second) {
      throw Error(Code::kBadData, cat("two columns are named ", quoted(name)), position(),
                  "give each column a name of its own in the first line");
    }
  }
  has_header_ = true;
}

void DelimitedReader::number_columns() {
  has_first_ = next_record(first_);
  if (!has_first_) throw Error(Code::kBadData, "is empty");
  for (size_t i = 0; i < first_.size(); ++i) columns_.push_back({std::to_string(i), {}});
}

bool DelimitedReader::next(Row& row) {
  if (std::exchange(has_first_, false)) {
    row = std::move(first_);
    return true;
  }
  do {
    if (!next_record(row)) return false;
    if (!repeats_header(row)) break;
    if (repeated_header_ == 0) repeated_header_ = record_line_;
  } while (true);
  if (row.size() != columns_.size()) refuse_fields(row);
  return true;
}

// Whether the row has the names of the columns, in any case. A single word may also be a text.
// Behind names in another order the rows have that order, too, so each column has two meanings.
bool DelimitedReader::repeats_header(const Row& row) const {
  if (!has_header_ || row.size() != columns_.size()) return false;
  const auto is_name = [](std::string_view text, const Column& column) {
    return text.size() == column.name.size() && lower_ascii(text) == lower_ascii(column.name);
  };
  std::vector<std::string_view> names;
  for (const Cell& cell : row) {
    std::string_view text = trimmed_text(cell);
    if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    const auto names_column = [&](const Column& column) { return is_name(text, column); };
    if (std::ranges::none_of(columns_, names_column)) return false;  // as in nearly all rows
    names.push_back(text);
  }
  const auto is_empty = [](const Column& column) { return column.name.empty(); };
  if (std::ranges::count_if(columns_, std::not_fn(is_empty)) < 2) return false;
  if (std::ranges::equal(names, columns_, is_name)) return true;
  const bool has_all = std::ranges::all_of(columns_, [&](const Column& column) {
    return std::ranges::any_of(names, [&](std::string_view text) { return is_name(text, column); });
  });
  const auto is_long = [](const Column& column) { return column.name.size() >= 4; };
  if (!has_all || std::ranges::none_of(columns_, is_long)) return false;
  throw Error(Code::kCorrupt, "the header stands here again, with its columns in another order",
              position(), "write each part into a file of its own");
}

void DelimitedReader::refuse_fields(const Row& row) const {
  throw Error(Code::kBadData,
              cat("has ", row.size(), row.size() == 1 ? " field" : " fields",
                  ", but the header has ", columns_.size()),
              position(), why_not_as_many(row, columns_.size()));
}

std::vector<Finding> DelimitedReader::findings() const {
  std::vector<Finding> found = findings_;
  if (repeated_header_ > 0) {
    found.push_back({"headers between rows are left out",
                     cat("the header stands again on ", line_position(repeated_header_),
                         ", as where files were joined; such a line is no row"),
                     /*is_warning=*/true});
  }
  return found;
}

namespace {

// The one of the usual delimiters that the header has most of outside quotes; a comma if none.
char delimiter_of(std::string_view header) {
  constexpr std::string_view kUsual = ",;\t|";
  size_t counts[kUsual.size()] = {};
  bool is_quoted = false;
  for (const char next : header) {
    if (next == '"') is_quoted = !is_quoted;
    const size_t found = is_quoted ? std::string_view::npos : kUsual.find(next);
    if (found != std::string_view::npos) ++counts[found];
  }
  return kUsual[static_cast<size_t>(std::ranges::max_element(counts) - counts)];
}

bool is_number(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

// Looks for records whose quoted field holds rows rather than lines of a text. Each line of such a
// record has as many fields as the header. In one column, all of them have values that other
// records have, too, or numbers where others have numbers. Columns of texts say nothing.
class HeldRows {
 public:
  void add(const Row& fields) {
    if (columns_.empty()) columns_.resize(fields.size());
    ++records_;
    for (size_t i = 0; i < fields.size(); ++i) {
      const std::string_view text = trimmed_text(fields[i]);
      Column& column = columns_[i];
      if (text.empty()) continue;
      column.are_numbers = column.are_numbers && is_number(text);
      if (column.values.size() > kMostValues || column.values.contains(text)) continue;
      column.values.emplace(text);
    }
  }

  // A record from line `opened` to line `closed`, whose field `held` has several lines.
  void add(const Row& fields, size_t held, char delimiter, uint64_t opened, uint64_t closed) {
    constexpr size_t kMostRecords = 8, kLongText = size_t{1} << 16;
    const std::string& text = std::get<std::string>(fields[held]);
    if (found_.size() == kMostRecords || text.size() > kLongText) return;
    Record record{.opened = opened, .closed = closed};
    const auto append = [&](std::vector<std::string>& line, size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) line.emplace_back(trimmed_text(fields[i]));
    };
    for (size_t begin = 0; begin <= text.size();) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      std::vector<std::string>& line = record.lines.emplace_back();
      if (begin == 0) append(line, 0, held);
      for (size_t from = begin; from <= end;) {
        const size_t to = std::min(text.find(delimiter, from), end);
        line.emplace_back(trimmed(std::string_view(text).substr(from, to - from)));
        from = to + 1;
      }
      if (end == text.size()) append(line, held + 1, fields.size());
      if (line.size() != fields.size()) return;
      begin = end + 1;
    }
    found_.push_back(std::move(record));
  }

  std::optional<Finding> finding() const {
    for (const Record& record : found_) {
      for (size_t i = 0; i < columns_.size(); ++i) {
        const Column& column = columns_[i];
        const size_t count = column.values.size();
        const bool recur = count <= kMostValues && records_ >= 2 * count;
        const bool are_known = std::ranges::all_of(record.lines, [&](const auto& line) {
          return (recur && column.values.contains(line[i])) ||
                 (column.are_numbers && is_number(line[i]));
        });
        if (are_known) return said(record.opened, record.closed);
      }
    }
    return std::nullopt;
  }

  static Finding said(uint64_t opened, uint64_t closed) {
    return warning(
        cat("the quote that opens on line ", opened, " closes on line ", closed,
            ", and its lines look like rows, which are read as one text; double a quote that "
            "is text, or pass --quoting none"));
  }

 private:
  static constexpr size_t kMostValues = 64;

  struct Column {
    std::set<std::string, std::less<>> values{};  // one more than kMostValues is too many
    bool are_numbers = true;
  };

  struct Record {
    uint64_t opened, closed;
    std::vector<std::vector<std::string>> lines{};
  };

  size_t records_ = 0;
  std::vector<Column> columns_;
  std::vector<Record> found_;
};

class CsvReader final : public DelimitedReader {
 public:
  CsvReader(std::unique_ptr<ByteSource> source, char delimiter, bool quotes)
      : DelimitedReader(std::move(source)), quotes_(quotes), delimiter_(delimiter) {
    read_header();
  }

  std::vector<Finding> findings() const override {
    std::vector<Finding> found = DelimitedReader::findings();
    if (const auto held = has_said_rows_ ? std::nullopt : held_rows_.finding()) {
      found.push_back(*held);
    }
    return found;
  }

 private:
  static constexpr const char* kHint =
      "close the quote, or double it if it is text; --skip-bad-rows cannot tell "
      "which rows it contains, and --quoting none reads all quotes as text";

  void split(std::string_view line, Row& fields) override {
    if (delimiter_ == 0) delimiter_ = delimiter_of_header(line);
    const uint64_t began = lines_.number();
    size_t at = 0, held = 0, of_lines = 0;  // the last field of several lines, and how many are
    while (true) {
      if (quotes_ && at < line.size() && line[at] == '"') {
        const uint64_t opened = lines_.number();
        fields.emplace_back(quoted_field(line, at));
        if (lines_.number() > opened) held = fields.size() - 1, ++of_lines;
      } else {
        const size_t end = std::min(line.find(delimiter_, at), line.size());
        append_field(line.substr(at, end - at), fields);
        at = end;
      }
      if (at == line.size()) break;
      ++at;  // the delimiter
    }
    if (!quotes_ || fields.size() != columns().size()) return;
    held_rows_.add(fields);
    if (of_lines == 1) held_rows_.add(fields, held, delimiter_, began, lines_.number());
  }

  // Goes on to the next line where Excel's "sep=;" says it.
  char delimiter_of_header(std::string_view& line) {
    std::string_view plain = line;
    if (plain.size() > 1 && plain.front() == '"' && plain.back() == '"') {
      plain = plain.substr(1, plain.size() - 2);  // as programs write it that quote all fields
    }
    if (plain.size() != 5 || !plain.starts_with("sep=")) return delimiter_of(line);
    const char said = plain[4];
    if (!lines_.next(line)) line = {};
    return said;
  }

  // Reads the field whose opening quote is line[at]. The closing quote may be on a later line;
  // `line` is then that line. On return, line[at] is the delimiter after the field, or `at` is the
  // end of the line. A quote that swallows lines and never closes is kCorrupt rather than a bad
  // row, because nobody can tell how many rows it contains.
  std::string quoted_field(std::string_view& line, size_t& at) {
    const uint64_t opened = lines_.number();
    std::string text;
    size_t lines = 0, rows = 0;  // whole lines in the field, and lines that look like rows
    ++at;
    while (true) {
      const size_t quote = line.find('"', at);
      if (quote == std::string_view::npos) {
        lines += at == 0;
        rows += at == 0 && looks_like_row(line);
        text.append(line.substr(at)).append(lines_.ending());
        if (text.size() > TextLines::kLimitBytes || !lines_.next(line)) {
          throw Error(Code::kCorrupt, "a quote opens here and is never closed",
                      line_position(opened), kHint);
        }
        at = 0;
        continue;
      }
      text.append(line.substr(at, quote - at));
      at = quote + 1;
      if (at == line.size() || line[at] == delimiter_) {
        look_for_rows(opened, lines, rows);
        return text;
      }
      if (line[at] != '"') {
        if (lines_.number() != opened) {
          throw Error(Code::kCorrupt,
                      cat("a quote opens here, and text follows the closing quote on line ",
                          lines_.number()),
                      line_position(opened), kHint);
        }
        const bool is_escaped = quote > 0 && line[quote - 1] == '\\';
        throw Error(Code::kBadData, cat("text follows the closing quote at byte ", at),
                    line_position(opened),
                    is_escaped
                        ? "a quote inside a quoted field is doubled and not written \\\"; in "
                          "Spark, option(\"escape\", \"\\\"\") writes it so, and in R, "
                          "qmethod = \"double\""
                        : "a quote inside a quoted field is doubled");
      }
      text += '"';
      ++at;
    }
  }

  // Whether a line has as many fields as the header, and a short one last.
  bool looks_like_row(std::string_view line) const {
    constexpr size_t kShortField = 30;
    const size_t columns = this->columns().size();
    const auto delimiters = static_cast<size_t>(std::ranges::count(line, delimiter_));
    const size_t last = line.size() - std::min(line.size(), line.rfind(delimiter_) + 1);
    return columns > 1 && delimiters + 1 == columns && last > 0 && last <= kShortField;
  }

  // Warns once of a field that holds several lines, if all of them look like rows: its quote is
  // rather a part of a text, and the quote that closes it belongs to another row.
  void look_for_rows(uint64_t opened, size_t lines, size_t rows) {
    constexpr size_t kFewLines = 3;
    if (lines < kFewLines || rows < lines || std::exchange(has_said_rows_, true)) return;
    add_finding(HeldRows::said(opened, lines_.number()));
  }

  const bool quotes_;
  char delimiter_;  // 0: unknown until the header is read
  bool has_said_rows_ = false;
  HeldRows held_rows_;
};

}  // namespace

std::unique_ptr<RowReader> make_csv_reader(std::unique_ptr<ByteSource> source, char delimiter,
                                           bool quotes) {
  return std::make_unique<CsvReader>(std::move(source), delimiter, quotes);
}

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

namespace {

class TsvReader final : public DelimitedReader {
 public:
  TsvReader(std::unique_ptr<ByteSource> source, bool has_header, char delimiter)
      : DelimitedReader(std::move(source)), delimiter_(delimiter) {
    has_header ? read_header() : number_columns();
  }

 private:
  void split(std::string_view line, Row& fields) override {
    size_t end;
    while ((end = line.find(delimiter_)) != std::string_view::npos) {
      append_field(line.substr(0, end), fields);
      line.remove_prefix(end + 1);
    }
    append_field(line, fields);
  }

  const char delimiter_;
};

}  // namespace

std::unique_ptr<RowReader> make_tsv_reader(std::unique_ptr<ByteSource> source, char delimiter) {
  return std::make_unique<TsvReader>(std::move(source), /*has_header=*/true, delimiter);
}

std::unique_ptr<RowReader> make_quoted_tsv_reader(std::unique_ptr<ByteSource> source,
                                                  char delimiter, Quoting quoting) {
  if (quoting == Quoting::kNone) return make_tsv_reader(std::move(source), delimiter);
  if (quoting == Quoting::kCsv) return make_csv_reader(std::move(source), delimiter);
  constexpr size_t kPeeked = size_t{1} << 20;
  std::string beginning;
  bool is_all = false;
  while (beginning.size() < kPeeked && !is_all) is_all = !read_more(*source, beginning);
  const TsvQuotes quotes = find_tsv_quotes(beginning, delimiter, is_all);
  source = std::make_unique<JoinedSource>(std::move(beginning), std::move(source));
  const bool is_csv = quotes == TsvQuotes::kCsv;
  auto rows = is_csv ? make_csv_reader(std::move(source), delimiter)
                     : make_tsv_reader(std::move(source), delimiter);
  if (quotes != TsvQuotes::kNone) {
    static_cast<DelimitedReader&>(*rows).add_finding(
        is_csv ? Finding{"quotes of CSV in TSV",
                         "fields are quoted as pandas quotes them; --quoting none reads quotes as "
                         "text"}
               : Finding{"",
                         "quotes are a part of the texts, as in GLUE's files; --quoting csv reads "
                         "them as pandas writes them"});
  }
  return rows;
}

std::unique_ptr<RowReader> make_headless_tsv_reader(std::unique_ptr<ByteSource> source) {
  return std::make_unique<TsvReader>(std::move(source), /*has_header=*/false, '\t');
}

}  // namespace berth
