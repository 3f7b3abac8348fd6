#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "storage/base/counted.h"
#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/formats/tf_example.h"
#include "storage/formats/tfrecord.h"
#include "trainer/data/example_reader.h"

namespace berth {
namespace {

using Numbers = std::vector<int64_t>;
using RecordFeatures = std::vector<TfFeature>;

// The first of the named features that the record has. null if it has none of them.
const TfFeature* find(const RecordFeatures& features,
                      std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    const auto found = std::find_if(features.begin(), features.end(),
                                    [name](const TfFeature& each) { return each.name == name; });
    if (found != features.end()) return &*found;
  }
  return nullptr;
}

const TfFeature* label_of(const RecordFeatures& features) {
  return find(features, {"label_ids", "label_id", "label"});
}

// The integers of a feature. Empty if the feature is absent.
Numbers integers(const TfFeature* feature) {
  if (feature == nullptr) return {};
  if (const auto* numbers = std::get_if<Numbers>(&feature->values)) return *numbers;
  throw Error(Code::kBadData, cat("feature ", quoted(feature->name), " does not hold integers"));
}

float single_number(const TfFeature& feature) {
  if (const auto* reals = std::get_if<std::vector<float>>(&feature.values)) {
    if (reals->size() == 1 && std::isfinite((*reals)[0])) return (*reals)[0];
  }
  if (const auto* integers = std::get_if<Numbers>(&feature.values)) {
    if (integers->size() == 1) return static_cast<float>((*integers)[0]);
  }
  throw Error(Code::kBadData, cat("feature ", quoted(feature.name), " is not one number"));
}

// The numbers that the mask keeps. Each must be below `size`, unless `size` is 0. `what` is the
// name of such a number in messages.
std::vector<int32_t> kept(const Numbers& numbers, const Numbers& mask, int64_t size,
                          const char* what) {
  std::vector<int32_t> ids;
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (mask[i] == 0) continue;
    if (numbers[i] < 0 || numbers[i] > std::numeric_limits<int32_t>::max()) {
      throw Error(Code::kBadData, cat(numbers[i], " is not a ", what));
    }
    if (size > 0 && numbers[i] >= size) {
      throw Error(Code::kBadData, cat(what, " ", numbers[i], " is too large: the model has ", size),
                  "", "were the records made with this model's vocabulary?");
    }
    ids.push_back(static_cast<int32_t>(numbers[i]));
  }
  return ids;
}

LabelKind kind_of_label(const RecordFeatures& features) {
  const TfFeature* label = label_of(features);
  if (label == nullptr) return LabelKind::kClass;
  if (std::holds_alternative<std::vector<float>>(label->values)) return LabelKind::kNumber;
  return integers(label).size() > 1 ? LabelKind::kTagPerWord : LabelKind::kClass;
}

class RecordReader final : public ExampleReader {
 public:
  RecordReader(std::unique_ptr<ByteSource> source, RecordRules rules)
      : records_(std::move(source)),
        label_names_(std::move(rules.label_names)),
        ignores_labels_(rules.need == LabelNeed::kIgnored),
        limits_(rules.limits) {
    has_first_ = read(first_);
    labelled_ = !ignores_labels_ && has_first_ && label_of(first_) != nullptr;
    const LabelKind told = has_first_ ? kind_of_label(first_) : LabelKind::kClass;
    task_ = rules.task.value_or(usual_task(told));
  }

  bool next(Example& example, LabelDictionary& labels) override {
    RecordFeatures features = std::move(first_);
    if (!std::exchange(has_first_, false) && !read(features)) return false;
    example = {};
    try {
      const Numbers mask = read_tokens(features, example);
      const TfFeature* weight = find(features, {"weight"});
      if (weight != nullptr && !ignores_labels_) example.weight = single_number(*weight);
      if (labelled_) read_label(features, mask, example, labels);
    } catch (const Error& error) {
      throw error.at(position());
    }
    return true;
  }

  std::string position() const override { return cat("record at byte ", records_.offset()); }
  bool labelled() const override { return labelled_; }
  Task task() const { return task_; }
  bool is_empty() const { return !has_first_; }  // may be called before the first next()

 private:
  // Reads the next record that is a real example.
  bool read(RecordFeatures& features) {
    for (std::vector<std::byte> record; records_.next(record);) {
      try {
        features = parse_tf_example(record);
        const Numbers real = integers(find(features, {"is_real_example"}));
        if (real.empty() || real[0] != 0) return true;
      } catch (const Error& error) {
        throw error.at(position());
      }
    }
    return false;
  }

  // Reads the tokens that the mask keeps, and returns the mask.
  Numbers read_tokens(const RecordFeatures& features, Example& example) const {
    const Numbers ids = integers(find(features, {"input_ids", "input_word_ids"}));
    Numbers mask = integers(find(features, {"input_mask"}));
    Numbers types = integers(find(features, {"segment_ids", "input_type_ids"}));
    if (mask.empty()) mask.assign(ids.size(), 1);
    if (types.empty()) types.assign(ids.size(), 0);
    if (mask.size() != ids.size() || types.size() != ids.size()) {
      throw Error(Code::kBadData, cat("there are ", ids.size(), " input_ids, but ", mask.size(),
                                      " input_mask and ", types.size(), " segment_ids"));
    }
    example.token_ids = kept(ids, mask, limits_.vocab_size, "token id");
    example.token_types = kept(types, mask, limits_.type_vocab_size, "token type");
    if (example.token_ids.empty()) {
      throw Error(Code::kBadData, "there are no input_ids", "",
                  "give TFRecords as run_classifier.py writes them");
    }
    return mask;
  }

  void read_label(const RecordFeatures& features, const Numbers& mask, Example& example,
                  LabelDictionary& labels) const {
    const TfFeature* label = label_of(features);
    if (label == nullptr)
      throw Error(Code::kBadData, "there are no label_ids, which the first record has");
    const LabelKind kind = traits(task_).labels;
    if (kind == LabelKind::kNumber) {
      example.score = single_number(*label);
      return;
    }
    if (std::holds_alternative<std::vector<float>>(label->values)) {
      throw Error(
          Code::kBadData,
          cat("feature ", quoted(label->name), " holds floats, which are labels of a regression"),
          "", "pass --task regression");
    }
    const Numbers numbers = integers(label);
    if (kind == LabelKind::kSet) return read_marks(numbers, example, labels);
    const bool is_of_tokens = kind == LabelKind::kTagPerWord;
    const size_t wanted = is_of_tokens ? mask.size() : 1;
    if (numbers.size() != wanted) {
      throw Error(Code::kBadData,
                  cat("feature ", quoted(label->name), " holds ", counted(numbers.size(), "label"),
                      is_of_tokens ? " for " + counted(wanted, "token") : " for one text"));
    }
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (is_of_tokens && mask[i] == 0) continue;
      // A token without a label is marked with -1 by the Model Garden and with -100 by Hugging
      // Face.
      const bool has_none = is_of_tokens && numbers[i] < 0;
      example.labels.push_back(has_none ? -1 : labels.entry(label_name(numbers[i])));
    }
  }

  void read_marks(const Numbers& marks, Example& example, LabelDictionary& labels) const {
    if (!label_names_.empty() && marks.size() != label_names_.size()) {
      throw Error(Code::kBadData, cat("label_ids holds ", counted(marks.size(), "mark"), " for ",
                                      counted(label_names_.size(), "label")));
    }
    for (size_t label = 0; label < marks.size(); ++label) {
      if (marks[label] != 0 && marks[label] != 1) {
        throw Error(Code::kBadData, cat("the mark ", marks[label], " is neither 0 nor 1"));
      }
      if (marks[label] == 1) {
        example.labels.push_back(labels.entry(label_name(static_cast<int64_t>(label))));
      }
    }
  }

  std::string label_name(int64_t label) const {
    if (label_names_.empty()) return std::to_string(label);
    if (label >= 0 && label < static_cast<int64_t>(label_names_.size())) {
      return label_names_[static_cast<size_t>(label)];
    }
    throw Error(Code::kBadData, cat("label ", label, " is not one of the ", label_names_.size(),
                                    " labels of the meta data"));
  }

  TfRecordReader records_;
  const std::vector<std::string> label_names_;
  const bool ignores_labels_;
  const TokenLimits limits_;
  RecordFeatures first_;
  bool has_first_ = false, labelled_ = false;
  Task task_ = kDefaultTask;
};

}  // namespace

RecordExamples make_record_examples(std::unique_ptr<ByteSource> source, RecordRules rules) {
  const std::optional<Task> task = rules.task;
  auto reader = std::make_unique<RecordReader>(std::move(source), std::move(rules));
  if (reader->is_empty()) return {.reader = nullptr, .task = task};
  const Task settled = reader->task();
  return {.reader = std::move(reader), .task = settled};
}

}  // namespace berth
