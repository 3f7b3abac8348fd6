#include <deque>
#include <nlohmann/json.hpp>
#include <optional>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "storage/formats/conll_columns.h"
#include "storage/formats/row_readers.h"
#include "storage/formats/text_lines.h"

namespace berth {
namespace {

// With longer sentences, the memory would grow with the file.
constexpr size_t kMostWords = 100'000;
// What is looked at before the columns are known.
constexpr size_t kPeekedSentences = 1000, kPeekedBytes = size_t{1} << 20;

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

class ConllReader final : public RowReader {
 public:
  ConllReader(std::unique_ptr<ByteSource> source, WordTags tags, const TextForm& form)
      : lines_(std::move(source)), ignores_tags_(tags == WordTags::kIgnored) {
    peek();
    layout_ = find_conll_layout(peeked_, form, ignores_tags_);
    columns_ = {{.name = layout_.word_name, .categories = {}}};
    if (layout_.tag) columns_.push_back({.name = layout_.tag_name, .categories = {}});
  }

  std::span<const Column> columns() const override { return columns_; }
  std::string position() const override { return line_position(first_line_); }

  bool next(Row& row) override {
    do {
      if (!take_sentence()) return false;
      read_words();
    } while (words_.empty());
    ++sentences_;
    last_words_ = words_.size();
    row = {to_text(words_)};
    if (columns_.size() > 1) row.push_back(to_text(tags_));
    return true;
  }

  std::vector<Finding> findings() const override {
    std::vector<Finding> found = layout_.findings;
    if (has_comments_) {
      found.push_back(
          {"comments in CoNLL", "lines that begin with # before a sentence are comments"});
    }
    if (repeated_header_ > 0) {
      found.push_back(
          {"headers between rows are left out",
           cat("the names of the columns stand again on ", line_position(repeated_header_),
               ", as where files were joined; such a line is no word"),
           /*is_warning=*/true});
    }
    constexpr size_t kManyWords = 100;
    if (sentences_ == 1 && last_words_ > kManyWords) {
      found.push_back(
          warning(cat("no blank line ends a sentence, so the ", last_words_,
                      " words of the file are one; put a blank line after each sentence")));
    }
    return found;
  }

 private:
  void peek() {
    size_t bytes = 0;
    bool has_words = false;
    try {
      for (ConllSentence sentence; peeked_.size() < kPeekedSentences && bytes < kPeekedBytes;) {
        if (!read_lines(sentence)) break;
        for (const std::string& line : sentence.lines) {
          bytes += line.size();
          has_words = true;
        }
        peeked_.push_back(std::move(sentence));
      }
    } catch (const Error& error) {
      if (peeked_.empty()) throw;
      failure_ = error;
    }
    if (!has_words) throw Error(Code::kBadData, "is empty");
  }

  // Reads lines up to a blank one. Returns false at the end of the file.
  bool read_lines(ConllSentence& sentence) {
    sentence = {};
    for (std::string_view line; lines_.next(line);) {
      if (is_blank(line)) {
        if (!sentence.lines.empty()) return true;
        continue;
      }
      if (line.starts_with("-DOCSTART-")) continue;
      if (sentence.lines.empty()) sentence.number = lines_.number();
      if (sentence.lines.size() == kMostWords) {
        throw Error(Code::kBadData, cat("a sentence of more than ", kMostWords, " words"),
                    line_position(sentence.number), "put a blank line after each sentence");
      }
      sentence.lines.emplace_back(line);
      sentence.numbers.push_back(lines_.number());
    }
    return !sentence.lines.empty();
  }

  bool take_sentence() {
    if (!peeked_.empty()) {
      sentence_ = std::move(peeked_.front());
      peeked_.pop_front();
      return true;
    }
    if (failure_) {
      const Error failure = *failure_;
      failure_.reset();
      throw failure;
    }
    return read_lines(sentence_);
  }

  static std::string iob_of(BracketTags& brackets, std::string_view cell, uint64_t line) {
    if (auto tag = brackets.next(cell)) return std::move(*tag);
    throw Error(Code::kBadData, cat(quoted(cell), " is no tag in brackets"), line_position(line),
                "write (NAME* where an entity begins, * inside and outside, and *) where it ends; "
                "entities do not lie in each other");
  }

  // The words and tags of the sentence, without comments.
  void read_words() {
    words_ = tags_ = Json::array();
    first_line_ = sentence_.number;
    BracketTags brackets;
    for (size_t i = 0; i < sentence_.lines.size(); ++i) {
      const std::string& line = sentence_.lines[i];
      const std::vector<std::string_view> fields = conll_fields(line);
      if (words_.empty() && layout_.is_comment(line, fields)) {
        has_comments_ = true;
        continue;
      }
      if (layout_.header == sentence_.numbers[i]) {
        header_ = line;
        continue;
      }
      if (!header_.empty() && line == header_) {
        if (repeated_header_ == 0) repeated_header_ = sentence_.numbers[i];
        continue;
      }
      if (words_.empty()) first_line_ = sentence_.numbers[i];
      if (layout_.is_no_word(fields)) continue;
      const bool has_word = layout_.word < fields.size();
      if ((fields.size() != layout_.fields && !ignores_tags_) || !has_word) {
        throw Error(
            Code::kBadData,
            cat("has ", fields.size(), fields.size() == 1 ? " field" : " fields",
                ", but the lines before it have ", layout_.fields),
            line_position(sentence_.numbers[i]),
            "write one word per line with its tag last, and a blank line after each sentence");
      }
      words_.push_back(fields[layout_.word]);
      if (layout_.has_brackets) {
        tags_.push_back(iob_of(brackets, fields[*layout_.tag], sentence_.numbers[i]));
      } else if (layout_.tag) {
        const std::string_view tag = fields[*layout_.tag];
        if (are_tags_of_sentence(tag)) {
          throw Error(Code::kBadData, cat("the tag ", quoted(tag), " is several"),
                      line_position(sentence_.numbers[i]), kOfSentences);
        }
        tags_.push_back(tag);
      }
    }
  }

  TextLines lines_;
  const bool ignores_tags_;
  std::deque<ConllSentence> peeked_;
  std::optional<Error> failure_;
  ConllLayout layout_;
  std::vector<Column> columns_;
  ConllSentence sentence_;
  Json words_, tags_;
  uint64_t first_line_ = 0;
  size_t sentences_ = 0, last_words_ = 0;  // that were read; the words of the last one
  bool has_comments_ = false;
  std::string header_;  // the line that names the columns; empty: there is none, or not yet
  uint64_t repeated_header_ = 0;  // the first line that repeats it; 0: none does
};

}  // namespace

std::unique_ptr<RowReader> make_conll_reader(std::unique_ptr<ByteSource> source, WordTags tags,
                                             const TextForm& form) {
  return std::make_unique<ConllReader>(std::move(source), tags, form);
}

}  // namespace berth
