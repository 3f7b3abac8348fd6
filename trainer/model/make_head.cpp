#include "trainer/model/heads.h"

namespace berth {

std::unique_ptr<Head> make_head(const ModelConfig& config, const Embeddings& embeddings,
                                Parameters& parameters, Kernels& kernels) {
  switch (config.task) {
    case Task::kTokenClassification:
      return make_token_classification_head(config, parameters, kernels);
    case Task::kMaskedLm:
      return make_masked_lm_head(config, embeddings, parameters, kernels);
    case Task::kSequenceClassification:
      break;
  }
  return make_sequence_classification_head(config, parameters, kernels);
}

}  // namespace berth
