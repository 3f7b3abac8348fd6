#include "trainer/data/token_features.h"

#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {

Features token_features(const Example& example, int32_t max_length) {
  if (example.token_ids.size() > static_cast<size_t>(max_length)) {
    throw Error(Code::kUsage,
                cat("a row has ", example.token_ids.size(), " tokens, but --max-seq-length is ",
                    max_length),
                "", "pass the length that the records were made with");
  }
  return {.input_ids = example.token_ids, .token_type_ids = example.token_types};
}

int32_t class_of(const FeatureOptions& options, int32_t entry) {
  return entry < 0 ? -1 : options.classes.at(static_cast<size_t>(entry));
}

float class_weight(const FeatureOptions& options, int32_t label) {
  if (options.class_weights.empty() || label < 0) return 1;
  return options.class_weights.at(static_cast<size_t>(label));
}

std::unique_ptr<FeatureMaker> make_feature_maker(FeatureOptions options,
                                                 const Tokenizer& tokenizer) {
  switch (traits(options.task).inputs) {
    case InputKind::kWords:
      return make_word_features(std::move(options), tokenizer);
    case InputKind::kQuestion:
      return make_answer_features(std::move(options), tokenizer);
    case InputKind::kDocument:
      return make_document_features(std::move(options), tokenizer);
    case InputKind::kTexts:
    case InputKind::kText:
    case InputKind::kTextGroup:
      break;
  }
  return make_text_features(std::move(options), tokenizer);
}

}  // namespace berth
