#include <nlohmann/json.hpp>
#include <optional>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "storage/formats/row_readers.h"
#include "storage/formats/text_lines.h"

namespace berth {
namespace {

// Of longer ones the memory would grow with the file.
constexpr size_t kMostWords = 100'000;

struct WordLine {
  std::string_view word, tag;
  size_t fields = 0;
};

// Fields are separated by tabs if the line contains one, and otherwise by spaces. Words may contain
// spaces in a line with tabs.
WordLine split_line(std::string_view line) {
  const std::string_view separators = line.find('\t') != std::string_view::npos ? "\t" : " ";
  WordLine parts;
  while (true) {
    const size_t end = std::min(line.find_first_of(separators), line.size());
    if (end > 0) {
      parts.tag = line.substr(0, end);
      if (parts.fields++ == 0) parts.word = parts.tag;
    }
    if (end == line.size()) return parts;
    line.remove_prefix(end + 1);
  }
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

class ConllReader final : public RowReader {
 public:
  ConllReader(std::unique_ptr<ByteSource> source, WordTags tags)
      : lines_(std::move(source)), ignores_tags_(tags == WordTags::kIgnored) {
    has_first_ = read_sentence();
    if (!has_first_) throw Error(Code::kBadData, "is empty");
    columns_ = {{.name = "tokens", .categories = {}}};
    if (fields_ > 1 && !ignores_tags_) columns_.push_back({.name = "tags", .categories = {}});
  }

  std::span<const Column> columns() const override { return columns_; }
  std::string position() const override { return line_position(first_line_); }

  bool next(Row& row) override {
    if (!std::exchange(has_first_, false) && !read_sentence()) return false;
    row = {to_text(words_)};
    if (columns_.size() > 1) row.push_back(to_text(tags_));
    return true;
  }

 private:
  // Reads lines up to a blank one. Returns false at the end of the file.
  bool read_sentence() {
    words_ = tags_ = Json::array();
    std::optional<Error> failure;
    for (std::string_view line; lines_.next(line);) {
      if (is_blank(line)) {
        if (failure) throw *failure;
        if (!words_.empty()) return true;
        continue;
      }
      if (line.starts_with("-DOCSTART-")) continue;
      if (words_.empty()) first_line_ = lines_.number();
      const WordLine parts = split_line(line);
      if (fields_ == 0) fields_ = parts.fields;
      if (parts.fields != fields_ && !ignores_tags_ && !failure) {
        failure = Error(
            Code::kBadData,
            cat("has ", parts.fields, parts.fields == 1 ? " field" : " fields",
                ", but the lines before it have ", fields_),
            line_position(lines_.number()),
            "write one word per line with its tag last, and a blank line after each sentence");
      }
      if (words_.size() == kMostWords) {
        throw Error(Code::kBadData, cat("a sentence of more than ", kMostWords, " words"),
                    line_position(first_line_), "put a blank line after each sentence");
      }
      words_.push_back(parts.word);
      tags_.push_back(parts.tag);
    }
    if (failure) throw *failure;
    return !words_.empty();
  }

  TextLines lines_;
  const bool ignores_tags_;
  std::vector<Column> columns_;
  Json words_, tags_;
  size_t fields_ = 0;  // number of fields in every line
  uint64_t first_line_ = 0;
  bool has_first_ = false;
};

}  // namespace

std::unique_ptr<RowReader> make_conll_reader(std::unique_ptr<ByteSource> source, WordTags tags) {
  return std::make_unique<ConllReader>(std::move(source), tags);
}

}  // namespace berth
