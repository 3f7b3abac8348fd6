#include "trainer/cpu/network/heads.h"

namespace berth {

std::unique_ptr<Head> make_head(const ModelConfig& config, Parameters& parameters,
                                Kernels& kernels) {
  switch (traits(config.task).rows) {
    case HeadRows::kSequences:
      return make_sequence_head(config, parameters, kernels);
    case HeadRows::kTokens:
      return make_token_head(config, parameters, kernels);
    case HeadRows::kPooled:
      return make_pooled_head(config, kernels);
    case HeadRows::kGroups:
      return make_group_head(config, kernels);
    case HeadRows::kStates:
      return make_state_head();
    case HeadRows::kReplaced:
      return make_detection_head(config, parameters, kernels);
    case HeadRows::kMasked:
      break;
  }
  return make_masked_lm_head(config, parameters, kernels);
}

}  // namespace berth
