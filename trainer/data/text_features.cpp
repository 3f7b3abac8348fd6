#include <cmath>
#include <optional>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "trainer/data/features.h"
#include "trainer/data/token_features.h"

namespace berth {
namespace {

class TextFeatures final : public FeatureMaker {
 public:
  TextFeatures(FeatureOptions options, const Tokenizer& tokenizer)
      : options_(std::move(options)), tokenizer_(tokenizer) {}

  std::vector<Features> make(const Example& example) const override {
    Features features = tokens(example);
    if (options_.labelled) label(example, features);
    return {std::move(features)};
  }

 private:
  Features tokens(const Example& example) const {
    if (is_group()) return group(example);
    if (!example.token_ids.empty()) return token_features(example, options_.max_seq_length);
    std::optional<std::string_view> pair;
    if (example.texts.size() > 1) pair = example.texts[1];
    Encoding encoding = tokenizer_.encode(example.texts[0], pair, options_.max_seq_length);
    return {.input_ids = std::move(encoding.input_ids),
            .token_type_ids = std::move(encoding.token_type_ids)};
  }

  bool is_group() const { return traits(options_.task).inputs == InputKind::kTextGroup; }

  Features group(const Example& example) const {
    if (example.texts.size() < 2) {
      throw Error(Code::kBadData, "the row has token ids, and not two texts to compare");
    }
    Features features;
    const auto append = [](std::vector<int32_t>& to, const std::vector<int32_t>& from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    for (const std::string& text : example.texts) {
      const Encoding encoding = tokenizer_.encode(text, std::nullopt, options_.max_seq_length);
      append(features.input_ids, encoding.input_ids);
      append(features.token_type_ids, encoding.token_type_ids);
      features.ends.push_back(static_cast<int32_t>(features.input_ids.size()));
    }
    return features;
  }

  float similarity(double label) const {
    const double scaled = label / options_.max_similarity;
    if (std::abs(scaled) <= 1) return static_cast<float>(scaled);
    throw Error(Code::kBadData,
                cat("the similarity ", label, " is not from -", options_.max_similarity, " to ",
                    options_.max_similarity),
                "", "say by --max-similarity which label texts have that mean the same");
  }

  void label(const Example& example, Features& features) const {
    features.weight = example.weight;
    switch (traits(options_.task).labels) {
      case LabelKind::kNumber:
        features.targets = {is_group() ? similarity(double{example.score}) : example.score};
        return;
      case LabelKind::kSet:
        features.targets.assign(static_cast<size_t>(options_.num_classes), 0);
        for (const int32_t entry : example.labels) {
          features.targets[static_cast<size_t>(class_of(options_, entry))] = 1;
        }
        return;
      case LabelKind::kPlaceInBatch:  // the batch has it
      case LabelKind::kVector:
        return;  // it is no part of the example: Dataset::set_targets()
      default:
        features.classes = {class_of(options_, example.labels.at(0))};
        features.weight *= class_weight(options_, features.classes[0]);
    }
  }

  const FeatureOptions options_;
  const Tokenizer& tokenizer_;
};

}  // namespace

std::unique_ptr<FeatureMaker> make_text_features(FeatureOptions options,
                                                 const Tokenizer& tokenizer) {
  return std::make_unique<TextFeatures>(std::move(options), tokenizer);
}

}  // namespace berth
