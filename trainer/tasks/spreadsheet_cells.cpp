#include "trainer/tasks/spreadsheet_cells.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace berth {
namespace {

// Whether a spreadsheet may compute the field at the beginning of `text`, which more may follow.
bool may_be_computed(std::string_view text) {
  if (text.empty() || std::string_view("=+-@\t\r\n").find(text.front()) == text.npos) return false;
  const bool is_signed = text.front() == '-' || text.front() == '+';
  const std::string_view rest = text.substr(1, text.find_first_of("\t\n\"") - 1);
  return !is_signed || rest.find_first_not_of("0123456789.") != rest.npos;
}

std::string with_marks(std::string_view lines) {
  std::string marked;
  bool is_quoted = false, begins_field = true;
  for (size_t i = 0; i < lines.size(); ++i) {
    const bool opens = begins_field && lines[i] == '"';
    if (begins_field && !opens && lines[i] != '\t' && lines[i] != '\n' &&
        may_be_computed(lines.substr(i))) {
      marked += '\'';
    }
    marked += lines[i];
    if (opens && may_be_computed(lines.substr(i + 1))) marked += '\'';
    if (lines[i] == '"') is_quoted = !is_quoted;
    begins_field = !is_quoted && (lines[i] == '\t' || lines[i] == '\n');
  }
  return marked;
}

class SpreadsheetLines final : public PredictionLines {
 public:
  explicit SpreadsheetLines(std::unique_ptr<PredictionLines> lines) : lines_(std::move(lines)) {}

  std::string header() const override { return with_marks(lines_->header()); }
  int64_t unseen_words() const override { return lines_->unseen_words(); }
  int64_t empty_rows() const override { return lines_->empty_rows(); }
  std::string add(int64_t index, std::span<const float> logits) override {
    return with_marks(lines_->add(index, logits));
  }

 private:
  const std::unique_ptr<PredictionLines> lines_;
};

}  // namespace

std::unique_ptr<PredictionLines> with_spreadsheet_cells(std::unique_ptr<PredictionLines> lines) {
  return std::make_unique<SpreadsheetLines>(std::move(lines));
}

}  // namespace berth
