#include "trainer/cpu/network/model.h"
#include "trainer/cpu/network/network.h"
#include "trainer/cpu/network/replaced_token_model.h"

namespace berth {

std::unique_ptr<Network> make_network(const ModelConfig& config, const BatchLimits& limits,
                                      Parameters& parameters, Kernels& kernels, LossOptions loss,
                                      const LoraOptions& lora) {
  if (config.generator) {
    return std::make_unique<ReplacedTokenModel>(config, limits, parameters, kernels, loss);
  }
  return std::make_unique<Model>(config, limits, parameters, kernels, loss, lora);
}

size_t planned_network_bytes(const ModelConfig& config, const BatchLimits& limits,
                             Parameters& planned, Kernels& kernels, const LoraOptions& lora) {
  if (config.generator) {
    return ReplacedTokenModel::planned_bytes(config, limits, planned, kernels);
  }
  return Model::planned_bytes(config, limits, planned, kernels, lora);
}

}  // namespace berth
