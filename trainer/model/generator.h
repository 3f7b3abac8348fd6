#pragma once

#include <string_view>
#include <vector>

#include "trainer/model/config.h"
#include "trainer/model/parameter_tensors.h"

namespace berth {

// Pre-training by replaced-token detection (Clark et al. 2020, arXiv:2003.10555) trains two
// networks: a generator, which is a masked language model, and the discriminator, which is the
// model itself. Both are in one parameter table. The generator has the discriminator's embeddings,
// their normalization included, as google-research/electra has it; its other parameters have names
// of their own.

// The beginning of the names of the generator's own parameters.
inline constexpr std::string_view kGeneratorPrefix = "generator.";

// The sizes of a generator with as many layers as the discriminator. Its hidden size, heads and
// intermediate size are this fraction of the discriminator's, rounded, and at least 1. The hidden
// size is a multiple of the heads: if needed, there are fewer heads.
GeneratorSizes scaled_generator(const ModelConfig& discriminator, double fraction);

// The sizes of a generator that was saved with this configuration. Throws kUsage, naming the key,
// where it does not fit the discriminator: another architecture, vocabulary, embedding size,
// number of positions or of token types.
GeneratorSizes saved_generator(const ModelConfig& discriminator, const ModelConfig& generator);

// The configuration of the generator that `discriminator.generator` describes, for the task of
// masked language models.
ModelConfig generator_config(const ModelConfig& discriminator);

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
