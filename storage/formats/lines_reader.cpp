#include "storage/formats/lines_reader.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "storage/formats/row_readers.h"
#include "storage/formats/text_lines.h"
#include "storage/formats/utf8.h"

namespace berth {

bool LinesReader::next(Row& row) {
  std::string_view line;
  do {
    if (!lines_.next(line)) return false;
  } while (trimmed(line).empty());
  look_at(line);
  row.resize(1);
  if (auto* held = std::get_if<std::string>(&row.front())) {
    held->assign(line);  // in the memory that it has
  } else {
    row.front() = std::string(line);
  }
  return true;
}

// Whether the line has the usual names of columns, as the first line of a CSV file.
bool LinesReader::names_columns(std::string_view line) {
  if (line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  constexpr std::string_view kNames = "text sentence content label id labels sentence1 sentence2";
  const std::vector<std::string> names = parted(lower_ascii(trimmed(line)), ",;\t|\"");
  const auto has_blank = [](const std::string& name) { return name.find(' ') != name.npos; };
  return names.size() < 10 && std::ranges::none_of(names, has_blank) &&
         std::ranges::any_of(names,
                             [&](const std::string& name) { return is_one_of(kNames, name); });
}

void LinesReader::look_at(std::string_view line) {
  constexpr size_t kLooked = 1000;
  if (rows_ == kLooked) return;
  if (rows_++ == 0) has_names_ = names_columns(line);
  objects_ += trimmed(line).starts_with("{\"") && parse_json(line).is_object();
}

std::vector<Finding> LinesReader::findings() const {
  constexpr size_t kFewRows = 3;
  if (rows_ >= kFewRows && objects_ == rows_) {
    return {warning(
        "each line is an object of JSON, whose names and quotes are read, too; a file of JSON "
        "lines is called .jsonl")};
  }
  if (!has_names_) return {};
  return {warning(
      "the first line seems to have the names of columns, and is read as a text; a table is "
      "called .csv or .tsv")};
}

namespace {

constexpr std::string_view kMark = "__label__";

// Takes the marked words out of a line, and returns the labels that they name.
std::vector<std::string> take_labels(std::string_view line, std::string& text) {
  std::vector<std::string> labels;
  text.clear();
  for (const std::string& word : parted(line, " \t")) {
    if (word.starts_with(kMark)) {
      labels.push_back(word.substr(kMark.size()));
    } else {
      text += (text.empty() ? "" : " ") + word;
    }
  }
  return labels;
}

// Without the byte order mark of UTF-8.
std::string_view without_mark(std::string_view line) {
  return line.starts_with(kByteOrderMark) ? line.substr(kByteOrderMark.size()) : line;
}

bool has_two_labels(std::string_view line) {
  const size_t first = line.find(kMark);
  return first != line.npos && line.find(kMark, first + kMark.size()) != line.npos;
}

// Whether a line has nothing but blanks, as strip() of Python sees them: the ones of ASCII, and
// characters such as U+00A0 and U+3000.
bool is_blank_line(std::string_view line) {
  constexpr std::string_view kBlanks[] = {
      " ",      "\t",     "\n",     "\v",     "\f",     "\r",     "\x1C",   "\x1D",
      "\x1E",   "\x1F",   "\u0085", "\u00A0", "\u1680", "\u2000", "\u2001", "\u2002",
      "\u2003", "\u2004", "\u2005", "\u2006", "\u2007", "\u2008", "\u2009", "\u200A",
      "\u2028", "\u2029", "\u202F", "\u205F", "\u3000"};
  while (!line.empty()) {
    const auto blank = std::ranges::find_if(
        kBlanks, [&](std::string_view each) { return line.starts_with(each); });
    if (blank == std::end(kBlanks)) return false;
    line.remove_prefix(blank->size());
  }
  return true;
}

class DocumentsReader final : public RowReader {
 public:
  explicit DocumentsReader(std::unique_ptr<ByteSource> source)
      : lines_(std::move(source), LongLines::kCut) {}

  std::span<const Column> columns() const override { return columns_; }
  std::string position() const override { return line_position(first_line_); }

  bool next(Row& row) override {
    std::string document;
    for (std::string_view line; lines_.next(line);) {
      if (is_blank_line(line) && document.empty()) continue;
      if (is_blank_line(line)) break;
      line = trimmed(line);
      if (document.empty()) first_line_ = lines_.number();
      document.append(document.empty() ? "" : "\n").append(line);
      if (document.size() <= TextLines::kLimitBytes) continue;
      throw Error(Code::kBadData,
                  cat("a document is larger than ", human_bytes(TextLines::kLimitBytes)),
                  position(), "put a blank line between documents");
    }
    if (document.empty()) return false;
    row.assign(1, std::move(document));
    return true;
  }

 private:
  TextLines lines_;
  uint64_t first_line_ = 0;  // of the last document
  const std::vector<Column> columns_ = {{"text", {}}};
};

class FastTextReader final : public RowReader {
 public:
  FastTextReader(std::unique_ptr<ByteSource> source, bool are_sets)
      : lines_(std::move(source)), are_sets_(are_sets) {}

  std::span<const Column> columns() const override { return columns_; }
  std::string position() const override { return line_position(lines_.number()); }
  bool is_of_texts() const override { return true; }

  std::vector<Finding> findings() const override {
    return {
        {"labels of fastText", "words that begin with __label__ are the labels, as in fastText"}};
  }

  bool next(Row& row) override {
    std::string_view line;
    do {
      if (!lines_.next(line)) return false;
    } while (trimmed(line).empty());
    std::string text;
    std::vector<std::string> labels = take_labels(line, text);
    row.assign(columns_.size(), {});
    if (!text.empty()) row[0] = std::move(text);
    if (are_sets_ || labels.size() > 1) {
      row[1] = to_text(Json(labels));
    } else if (!labels.empty()) {
      row[1] = std::move(labels.front());
    }
    return true;
  }

 private:
  TextLines lines_;
  const bool are_sets_;
  const std::vector<Column> columns_ = {{"text", {}}, {"label", {}}};
};

}  // namespace

std::unique_ptr<RowReader> make_documents_reader(std::unique_ptr<ByteSource> source) {
  return std::make_unique<DocumentsReader>(as_utf8(std::move(source)));
}

std::unique_ptr<RowReader> make_lines_reader(std::unique_ptr<ByteSource> source) {
  constexpr size_t kPeeked = size_t{1} << 20;
  source = as_utf8(std::move(source));
  std::string beginning;
  while (beginning.size() < kPeeked && read_more(*source, beginning)) {
  }
  bool is_first = true, is_marked = false, are_sets = false;
  for (const std::string& line : parted(beginning, "\r\n")) {
    if (is_first) is_marked = trimmed(without_mark(line)).starts_with(kMark);
    is_first = false;
    if (!is_marked) break;
    are_sets = are_sets || has_two_labels(line);
  }
  source = std::make_unique<JoinedSource>(std::move(beginning), std::move(source));
  if (!is_marked) return std::make_unique<LinesReader>(std::move(source));
  return std::make_unique<FastTextReader>(std::move(source), are_sets);
}

}  // namespace berth
