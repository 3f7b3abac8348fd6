#include "trainer/tasks/predictions.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "trainer/metrics/metrics.h"
#include "trainer/tasks/answer_picker.h"
#include "trainer/tasks/result_kinds.h"
#include "trainer/tasks/task_results.h"

namespace berth {
namespace {

// Line ends of two characters stay, as other line ends do.
std::string shown(std::string_view text) {
  constexpr std::string_view kLineEnd = "\r\n";
  std::string lines;
  for (size_t end = 0; (end = text.find(kLineEnd)) != text.npos;) {
    lines += printable_lines(text.substr(0, end)).append(kLineEnd);
    text.remove_prefix(end + kLineEnd.size());
  }
  return lines + printable_lines(text);
}

}  // namespace

std::string one_field(std::string text) {
  text = shown(text);
  if (text.find_first_of("\"\t\n\r") == std::string::npos) return text;
  std::string marked = "\"";
  for (const char c : text) marked.append(c == '"' ? 2 : 1, c);
  return marked + "\"";
}

size_t end_of_line(std::string_view lines, size_t begin) {
  bool is_quoted = false;
  for (size_t i = begin; i < lines.size(); ++i) {
    if (lines[i] == '"') is_quoted = !is_quoted;
    if (lines[i] == '\n' && !is_quoted) return i + 1;
  }
  return lines.size();
}

namespace {

// What the row of the features at `index` is known by.
std::string id_of(const Dataset& data, int64_t index) {
  const std::string id = data.id(index);
  return id.empty() ? std::to_string(data.source_row(index)) : one_field(id);
}

std::string digits(double value) { return formatted("%.9f", value); }

// The names of the columns of texts, for rows that have `texts` texts.
Labels text_columns(Task task, size_t texts) {
  const TaskTraits& row = traits(task);
  Labels names = {std::string(row.first_text)};
  if (row.inputs == InputKind::kWords) return names;
  const bool are_numbered = row.other_texts.ends_with('_');
  for (size_t i = 1; i < texts; ++i) {
    names.push_back(cat(row.other_texts, are_numbered ? std::to_string(i - 1) : ""));
  }
  return names;
}

// The header of lines with a probability for each label. A label that is called like another column
// cannot name its own.
std::string header_of_labels(const Labels& labels, Task task) {
  Labels taken = text_columns(task, 2);
  taken.insert(taken.end(), {"id", "prediction"});
  std::string line = "id\tprediction";
  for (const std::string& label : labels) {
    std::string name = label;
    const auto is_label = [&] { return name != label && std::ranges::count(labels, name) > 0; };
    while (std::ranges::count(taken, name) > 0 || is_label()) name.insert(0, "probability_");
    if (name != label) {
      log_info(cat("column ", quoted(name), " has the probabilities of the label ", quoted(label),
                   ", because another column is called so"));
    }
    taken.push_back(name);
    line.append("\t").append(one_field(name));
  }
  return line + "\n";
}

class ClassLines final : public PredictionLines {
 public:
  ClassLines(const Dataset& data, const Labels& labels)
      : data_(data), labels_(labels), header_(header_of_labels(labels, data.task())) {}

  std::string header() const override { return header_; }

  std::string add(int64_t index, std::span<const float> logits) override {
    const auto best = static_cast<size_t>(argmax(logits));
    std::string line = id_of(data_, index) + "\t" + one_field(labels_[best]);
    for (const double probability : softmax(logits)) line += "\t" + digits(probability);
    return line + "\n";
  }

 private:
  const Dataset& data_;
  const Labels labels_;
  const std::string header_;
};

class SetLines final : public PredictionLines {
 public:
  SetLines(const Dataset& data, const Labels& labels, const LabelThresholds& thresholds)
      : data_(data),
        labels_(labels),
        header_(header_of_labels(labels, data.task())),
        thresholds_(thresholds) {}

  std::string header() const override { return header_; }

  std::string add(int64_t index, std::span<const float> logits) override {
    std::string set, probabilities;
    for (size_t label = 0; label < labels_.size(); ++label) {
      if (is_predicted(logits[label], thresholds_.of_label(label))) {
        set.append(set.empty() ? "" : "|").append(labels_[label]);
      }
      probabilities += "\t" + digits(sigmoid(logits[label]));
    }
    return id_of(data_, index) + "\t" + one_field(set) + probabilities + "\n";
  }

 private:
  const Dataset& data_;
  const Labels labels_;
  const std::string header_;
  const LabelThresholds thresholds_;
};

class NumberLines final : public PredictionLines {
 public:
  explicit NumberLines(const Dataset& data) : data_(data) {}

  std::string header() const override { return "id\tscore\n"; }
  std::string add(int64_t index, std::span<const float> logits) override {
    return id_of(data_, index) + "\t" + digits(logits[0]) + "\n";
  }

 private:
  const Dataset& data_;
};

class RerankingLines final : public PredictionLines {
 public:
  explicit RerankingLines(const Dataset& data) : data_(data) {}

  std::string header() const override { return "id\tscore\trank\n"; }
  std::string add(int64_t index, std::span<const float> logits) override {
    return cat(id_of(data_, index), "\t", digits(logits[0]), "\t", static_cast<int64_t>(logits[1]),
               "\n");
  }

 private:
  const Dataset& data_;
};

class WordLines final : public PredictionLines {
 public:
  WordLines(Dataset& data, const Labels& labels) : data_(data), labels_(labels) {
    const bool has_outside = std::find(labels.begin(), labels.end(), "O") != labels.end();
    unseen_ = std::string("\t") + (has_outside ? "O" : "") + "\t" + digits(0) + "\n";
  }

  std::string header() const override { return "sentence\tword\tprediction\tprobability\n"; }
  int64_t unseen_words() const override { return unseen_words_; }

  std::string add(int64_t index, std::span<const float> logits) override {
    const Features& features = data_.features(index);
    const std::string sentence = id_of(data_, index) + "\t";
    const size_t classes = labels_.size();
    std::string lines;
    int32_t next = 0;  // the next word to write
    const auto pass_to = [&](int32_t word) {
      for (; next < word; ++next, ++unseen_words_) {
        lines += sentence + std::to_string(next) + unseen_;
      }
    };
    for (size_t token = 0; token < features.words.size(); ++token) {
      if (features.words[token] < 0) continue;
      pass_to(features.words[token]);
      const std::span<const float> of_word = logits.subspan(token * classes, classes);
      const auto best = static_cast<size_t>(argmax(of_word));
      lines += sentence + std::to_string(next++) + "\t" + one_field(labels_[best]) + "\t" +
               digits(softmax(of_word)[best]) + "\n";
    }
    pass_to(static_cast<int32_t>(data_.example(index).texts.size()));
    return lines;
  }

 private:
  Dataset& data_;
  const Labels labels_;
  std::string unseen_;  // the fields behind the number of a word without logits
  int64_t unseen_words_ = 0;
};

class AnswerLines final : public PredictionLines {
 public:
  AnswerLines(Dataset& data, const AnswerOptions& options) : data_(data), picker_(options) {}

  std::string header() const override { return "id\tanswer\tstart\tend\tprobability\n"; }

  std::string add(int64_t index, std::span<const float> logits) override {
    picker_.add(data_.features(index), logits);
    const int64_t next = index + 1;
    if (next < data_.size() && data_.row_index(next) == data_.row_index(index)) return "";
    const Example example = data_.example(index);
    const PickedAnswer answer = picker_.pick(example.texts.at(1));
    return id_of(data_, index) + "\t" + one_field(answer.text) + "\t" +
           std::to_string(answer.begin) + "\t" + std::to_string(answer.end) + "\t" +
           digits(answer.probability) + "\n";
  }

 private:
  Dataset& data_;
  AnswerPicker picker_;
};

class ClassTestResults final : public PredictionLines {
 public:
  std::string header() const override { return ""; }
  std::string add(int64_t, std::span<const float> logits) override {
    const std::string line = joined(softmax(logits), "\t",
                                    [&](const double probability) { return digits(probability); });
    return line + "\n";
  }
};

class NumberTestResults final : public PredictionLines {
 public:
  std::string header() const override { return ""; }
  std::string add(int64_t, std::span<const float> logits) override {
    return digits(logits[0]) + "\n";
  }
};

}  // namespace

std::unique_ptr<PredictionLines> make_class_lines(const ResultInputs& of) {
  return std::make_unique<ClassLines>(of.data, of.labels);
}

std::unique_ptr<PredictionLines> make_class_test_results() {
  return std::make_unique<ClassTestResults>();
}

std::unique_ptr<PredictionLines> make_number_lines(const ResultInputs& of) {
  return std::make_unique<NumberLines>(of.data);
}

std::unique_ptr<PredictionLines> make_reranking_lines(const ResultInputs& of) {
  return std::make_unique<RerankingLines>(of.data);
}

std::unique_ptr<PredictionLines> make_number_test_results() {
  return std::make_unique<NumberTestResults>();
}

std::unique_ptr<PredictionLines> make_set_lines(const ResultInputs& of) {
  return std::make_unique<SetLines>(of.data, of.labels, of.rules.thresholds);
}

std::unique_ptr<PredictionLines> make_word_lines(const ResultInputs& of) {
  return std::make_unique<WordLines>(of.data, of.labels);
}

std::unique_ptr<PredictionLines> make_answer_lines(const ResultInputs& of) {
  return std::make_unique<AnswerLines>(of.data, of.rules.answers);
}

std::unique_ptr<PredictionLines> make_prediction_lines(Dataset& data, const Labels& labels,
                                                       const PredictionRules& rules) {
  return results_of(data.task()).lines({data, labels, rules});
}

namespace {

// How many tabs stand between the fields of a line.
size_t tabs_between_fields(std::string_view line) {
  size_t tabs = 0;
  bool is_quoted = false;
  for (const char c : line) {
    if (c == '"') is_quoted = !is_quoted;
    tabs += c == '\t' && !is_quoted;
  }
  return tabs;
}

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
    return id_of(data_, index) + std::string(tabs_between_fields(lines_->header()), '\t') + "\n";
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

namespace {

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
    for (const std::string& name : text_columns(data_.task(), first.texts.size())) {
      names_ += "\t" + name;
    }
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
