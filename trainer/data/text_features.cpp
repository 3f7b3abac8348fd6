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
    if (!example.token_ids.empty()) return token_features(example, options_.max_seq_length);
    std::optional<std::string_view> pair;
    if (example.texts.size() > 1) pair = example.texts[1];
    Encoding encoding = tokenizer_.encode(example.texts[0], pair, options_.max_seq_length);
    return {.input_ids = std::move(encoding.input_ids),
            .token_type_ids = std::move(encoding.token_type_ids)};
  }

  void label(const Example& example, Features& features) const {
    features.weight = example.weight;
    switch (traits(options_.task).labels) {
      case LabelKind::kNumber:
        features.targets = {example.score};
        return;
      case LabelKind::kSet:
        features.targets.assign(static_cast<size_t>(options_.num_classes), 0);
        for (const int32_t entry : example.labels) {
          features.targets[static_cast<size_t>(class_of(options_, entry))] = 1;
        }
        return;
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
