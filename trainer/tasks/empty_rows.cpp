#include "trainer/tasks/empty_rows.h"

#include <algorithm>
#include <string>
#include <utility>

#include "storage/base/text.h"
#include "trainer/tasks/line_fields.h"

namespace berth {
namespace {

class LinesWithEmptyRows final : public PredictionLines {
 public:
  LinesWithEmptyRows(std::unique_ptr<PredictionLines> lines, Dataset& data)
      : lines_(std::move(lines)), data_(data) {}

  std::string header() const override { return lines_->header(); }
  int64_t unseen_words() const override { return lines_->unseen_words(); }
  int64_t empty_rows() const override { return empty_rows_; }

  std::string add(int64_t index, std::span<const float> logits) override {
    if (!is_empty_row(data_.example(index), traits(data_.task()).inputs))
      return lines_->add(index, logits);
    const int64_t next = index + 1;
    if (next < data_.size() && data_.row_index(next) == data_.row_index(index)) return "";
    ++empty_rows_;
    const std::string names = lines_->header(), id = data_.id(index);
    const auto fields = static_cast<size_t>(std::ranges::count(names, '\t'));
    return (id.empty() ? std::to_string(data_.source_row(index)) : one_field(id)) +
           std::string(fields, '\t') + "\n";
  }

 private:
  const std::unique_ptr<PredictionLines> lines_;
  Dataset& data_;
  int64_t empty_rows_ = 0;
};

}  // namespace

bool is_empty_row(const Example& example, InputKind inputs) {
  if (!example.token_ids.empty()) return false;
  if (inputs == InputKind::kWords) return example.texts.empty();
  const auto is_blank = [](const std::string& text) { return trimmed(text).empty(); };
  return example.texts.empty() || std::ranges::any_of(example.texts, is_blank);
}

std::unique_ptr<PredictionLines> with_empty_rows(std::unique_ptr<PredictionLines> lines,
                                                 Dataset& data) {
  return std::make_unique<LinesWithEmptyRows>(std::move(lines), data);
}

}  // namespace berth
