#pragma once

#include <vector>

#include "trainer/model/config.h"
#include "trainer/model/parameter_tensors.h"

namespace berth {

// The generator's part of the parameters of a discriminator with a generator, as a file of only the
// generator has them: its own parameters under names without prefix, and the embeddings. Values
// that are written to the embeddings are dropped, because the discriminator decides them. Borrows
// the tensors.
class GeneratorTensors final : public ParameterTensors {
 public:
  // `config` is the discriminator's. Const tensors may not be written.
  GeneratorTensors(const ModelConfig& config, const ParameterTensors& all);
  GeneratorTensors(const ModelConfig& config, ParameterTensors& all);

  using ParameterTensors::read;
  std::span<const ParameterSpec> specs() const override { return specs_; }
  void read(size_t index, int64_t first, std::span<float> values) const override;
  void write(size_t index, int64_t first, Bytes values) override;

 private:
  const ParameterTensors& all_;
  ParameterTensors* written_ = nullptr;  // the same tensors; null: they are const
  std::vector<ParameterSpec> specs_;
  std::vector<size_t> places_;  // of each in `all`
};

}  // namespace berth
