#include "trainer/cpu/network/heads.h"

namespace berth {

std::unique_ptr<Head> make_head(const ModelConfig& config, const Embeddings& embeddings,
                                Parameters& parameters, Kernels& kernels) {
  if (config.task == Task::kMaskedLm) {
    return make_masked_lm_head(config, embeddings, parameters, kernels);
  }
  return config.is_of_sequences() ? make_sequence_head(config, parameters, kernels)
                                  : make_token_head(config, parameters, kernels);
}

}  // namespace berth
