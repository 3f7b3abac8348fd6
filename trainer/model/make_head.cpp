#include "storage/base/error.h"
#include "trainer/model/heads.h"

namespace berth {

std::unique_ptr<Head> make_head(const ModelConfig& config, const Embeddings& embeddings,
                                const LossOptions& loss, Parameters& parameters, Kernels& kernels) {
  static_cast<void>(loss);  // not yet
  switch (config.task) {
    case Task::kTokenClassification:
      return make_token_classification_head(config, parameters, kernels);
    case Task::kMaskedLm:
      return make_masked_lm_head(config, embeddings, parameters, kernels);
    case Task::kQuestionAnswering:
      throw Error(Code::kInternal, "no head for question answering yet");
    case Task::kSequenceClassification:
    case Task::kRegression:
    case Task::kMultiLabel:
      break;
  }
  return make_sequence_classification_head(config, parameters, kernels);
}

}  // namespace berth
