#include <algorithm>
#include <cstdio>

#include "trainer/metrics/classification.h"
#include "trainer/metrics/multi_label.h"
#include "trainer/tasks/answer_picker.h"
#include "trainer/tasks/line_fields.h"
#include "trainer/tasks/result_kinds.h"
#include "trainer/tasks/task_results.h"

namespace berth {
namespace {

// What the row of the features at `index` is known by.
std::string id_of(const Dataset& data, int64_t index) {
  const std::string id = data.id(index);
  return id.empty() ? std::to_string(data.source_row(index)) : one_field(id);
}

std::string digits(double value) {
  char text[48];
  std::snprintf(text, sizeof text, "%.9f", value);
  return text;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text.append("\t").append(one_field(name));
  return text;
}

class ClassLines final : public PredictionLines {
 public:
  ClassLines(const Dataset& data, const Labels& labels) : data_(data), labels_(labels) {}

  std::string header() const override { return "id\tprediction" + joined(labels_) + "\n"; }

  std::string add(int64_t index, std::span<const float> logits) override {
    const auto best = static_cast<size_t>(argmax(logits));
    std::string line = id_of(data_, index) + "\t" + one_field(labels_[best]);
    for (const double probability : softmax(logits)) line += "\t" + digits(probability);
    return line + "\n";
  }

 private:
  const Dataset& data_;
  const Labels labels_;
};

class SetLines final : public PredictionLines {
 public:
  SetLines(const Dataset& data, const Labels& labels) : data_(data), labels_(labels) {}

  std::string header() const override { return "id\tprediction" + joined(labels_) + "\n"; }

  std::string add(int64_t index, std::span<const float> logits) override {
    std::string set, probabilities;
    for (size_t label = 0; label < labels_.size(); ++label) {
      const double probability = sigmoid(logits[label]);
      if (probability > 0.5) set.append(set.empty() ? "" : "|").append(labels_[label]);
      probabilities += "\t" + digits(probability);
    }
    return id_of(data_, index) + "\t" + one_field(set) + probabilities + "\n";
  }

 private:
  const Dataset& data_;
  const Labels labels_;
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
    std::string line;
    for (const double probability : softmax(logits)) {
      line += (line.empty() ? "" : "\t") + digits(probability);
    }
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

std::unique_ptr<PredictionLines> make_class_lines(Dataset& data, const Labels& labels,
                                                  const AnswerOptions&) {
  return std::make_unique<ClassLines>(data, labels);
}

std::unique_ptr<PredictionLines> make_class_test_results() {
  return std::make_unique<ClassTestResults>();
}

std::unique_ptr<PredictionLines> make_number_lines(Dataset& data, const Labels&,
                                                   const AnswerOptions&) {
  return std::make_unique<NumberLines>(data);
}

std::unique_ptr<PredictionLines> make_number_test_results() {
  return std::make_unique<NumberTestResults>();
}

std::unique_ptr<PredictionLines> make_set_lines(Dataset& data, const Labels& labels,
                                                const AnswerOptions&) {
  return std::make_unique<SetLines>(data, labels);
}

std::unique_ptr<PredictionLines> make_word_lines(Dataset& data, const Labels& labels,
                                                 const AnswerOptions&) {
  return std::make_unique<WordLines>(data, labels);
}

std::unique_ptr<PredictionLines> make_answer_lines(Dataset& data, const Labels&,
                                                   const AnswerOptions& answers) {
  return std::make_unique<AnswerLines>(data, answers);
}

std::unique_ptr<PredictionLines> make_prediction_lines(Dataset& data, const Labels& labels,
                                                       const AnswerOptions& answers) {
  return results_of(data.task()).lines(data, labels, answers);
}

}  // namespace berth
