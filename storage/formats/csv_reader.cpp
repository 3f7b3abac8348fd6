#include <algorithm>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/formats/delimited_reader.h"
#include "storage/formats/row_readers.h"

namespace berth {
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

class CsvReader final : public DelimitedReader {
 public:
  CsvReader(std::unique_ptr<ByteSource> source, char delimiter, bool quotes)
      : DelimitedReader(std::move(source)), quotes_(quotes), delimiter_(delimiter) {
    read_header();
  }

 private:
  static constexpr const char* kHint =
      "close the quote, or double it if it is text; --skip-bad-rows cannot tell "
      "which rows it contains, and --quoting none reads all quotes as text";

  void split(std::string_view line, Row& fields) override {
    if (delimiter_ == 0) delimiter_ = delimiter_of_header(line);
    size_t at = 0;
    while (true) {
      if (quotes_ && at < line.size() && line[at] == '"') {
        fields.emplace_back(quoted_field(line, at));
      } else {
        const size_t end = std::min(line.find(delimiter_, at), line.size());
        append_field(line.substr(at, end - at), fields);
        at = end;
      }
      if (at == line.size()) return;
      ++at;  // the delimiter
    }
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
    ++at;
    while (true) {
      const size_t quote = line.find('"', at);
      if (quote == std::string_view::npos) {
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
      if (at == line.size() || line[at] == delimiter_) return text;
      if (line[at] != '"') {
        if (lines_.number() != opened) {
          throw Error(Code::kCorrupt,
                      cat("a quote opens here, and text follows the closing quote on line ",
                          lines_.number()),
                      line_position(opened), kHint);
        }
        throw Error(Code::kBadData, cat("text follows the closing quote at byte ", at),
                    line_position(opened), "a quote inside a quoted field is doubled");
      }
      text += '"';
      ++at;
    }
  }

  const bool quotes_;
  char delimiter_;  // 0: unknown until the header is read
};

}  // namespace

std::unique_ptr<RowReader> make_csv_reader(std::unique_ptr<ByteSource> source, char delimiter,
                                           bool quotes) {
  return std::make_unique<CsvReader>(std::move(source), delimiter, quotes);
}

}  // namespace berth
