#include "trainer/tasks/text_columns.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/base/error.h"
#include "trainer/tasks/line_fields.h"

namespace berth {
namespace {

// The names of the columns, for rows that have `texts` texts.
std::string column_names(InputKind inputs, size_t texts) {
  if (inputs == InputKind::kWords) return "\ttext";
  if (inputs == InputKind::kQuestion) return "\tquestion\tcontext";
  return texts == 2 ? "\ttext\ttext_pair" : "\ttext";
}

class TextColumns final : public PredictionLines {
 public:
  TextColumns(std::unique_ptr<PredictionLines> lines, Dataset& data)
      : lines_(std::move(lines)), data_(data), inputs_(traits(data.task()).inputs) {
    if (data_.size() == 0) return;
    const Example first = data_.example(0);
    if (first.texts.empty() && !first.token_ids.empty()) {
      throw Error(Code::kUsage, "the rows hold token ids and no texts", "--predictions-with-text",
                  "leave the flag out, or predict the texts that the records were made of");
    }
    names_ = column_names(inputs_, first.texts.size());
  }

  std::string header() const override { return widened(lines_->header(), names_); }
  int64_t unseen_words() const override { return lines_->unseen_words(); }

  std::string add(int64_t index, std::span<const float> logits) override {
    const std::string lines = lines_->add(index, logits);
    if (lines.empty()) return lines;
    const Example example = data_.example(index);
    if (inputs_ != InputKind::kWords) {
      std::string texts;
      for (const std::string& text : example.texts) texts += "\t" + one_field(text);
      return widened(lines, texts);
    }
    std::string wide;  // one line for each word
    size_t word = 0;
    for (size_t begin = 0; begin < lines.size(); ++word) {
      const size_t end = end_of_line(lines, begin);
      wide += widened(lines.substr(begin, end - begin), "\t" + one_field(example.texts.at(word)));
      begin = end;
    }
    return wide;
  }

 private:
  // One line with `fields` at its end.
  static std::string widened(std::string line, const std::string& fields) {
    line.insert(line.size() - 1, fields);
    return line;
  }

  const std::unique_ptr<PredictionLines> lines_;
  Dataset& data_;
  const InputKind inputs_;
  std::string names_;
};

}  // namespace

std::unique_ptr<PredictionLines> with_text_columns(std::unique_ptr<PredictionLines> lines,
                                                   Dataset& data) {
  return std::make_unique<TextColumns>(std::move(lines), data);
}

}  // namespace berth
