#include "storage/base/philox.h"
#include "trainer/cpu/network/heads.h"
#include "trainer/cpu/network/layer_norm.h"
#include "trainer/cpu/network/linear.h"
#include "trainer/model/part_names.h"

namespace berth {
namespace {

constexpr uint32_t kSamplingPurpose = 0x73616d70;  // no dropout site has these numbers
constexpr uint32_t kEvaluationSamplingPurpose = 0x73616d71;

class MaskedLmHead final : public Head {
 public:
  MaskedLmHead(const ModelConfig& config, Parameters& parameters, Kernels& kernels)
      : config_(config),
        names_(masked_lm_head_names(config)),
        kernels_(kernels),
        dense_(parameters, names_.dense),
        norm_(parameters, names_.norm, config.layer_norm_eps),
        decoder_(parameters.factor(names_.decoder)),
        bias_(parameters.parameter(names_.bias)) {}

  Tensor selected(const BatchTensors& batch) const override { return batch.masked; }
  int64_t most_selected(const BatchLimits& limits) const override { return limits.most_masked(); }

  void allocate(Arena& arena, const BatchLimits& limits) override {
    const int64_t rows = limits.most_masked();
    for (Tensor* tensor : {&pre_, &activated_, &normalized_, &dnormalized_}) {
      *tensor = arena.make(DType::kF32, {rows, config_.embedding_width()});
    }
    norm_.allocate(arena, rows);
    const TileSize tile = Kernels::vocabulary_tile(rows, config_.vocab_size);
    tile_ = arena.make(DType::kF32, {tile.rows, tile.columns});
    predictions_ = arena.make(DType::kF32, {rows, 2});
    if (config_.is_generator) all_samples_ = arena.make(DType::kI32, {rows});
  }

  Tensor forward(const StepContext& step, Tensor hidden) override {
    const int64_t rows = step.batch.num_masked;
    const Tensor activated = activated_.first(rows);
    const Tensor normalized = normalized_.first(rows), predictions = predictions_.first(rows);
    hidden_ = hidden;
    dense_.activation_forward(kernels_, hidden, names_.activation, pre_.first(rows), activated);
    kernels_.layer_norm_forward(activated, norm_.parameters(), normalized, norm_.statistics(rows));
    VocabularyOutputs outputs{.tile = tile_, .predictions = predictions};
    if (step.training) {
      outputs.dx = dnormalized_.first(rows);
      outputs.dw = decoder_.gradient();
      outputs.dbias = bias_.gradient();
    }
    if (config_.is_generator) outputs.samples = samples_ = all_samples_.first(rows);
    kernels_.vocabulary_cross_entropy(
        {normalized, bias_.value(), step.batch.labels, step.batch.weights, draws(step)},
        decoder_.weight(), step.label_smoothing, step.state, outputs);
    return predictions;
  }

  // The gradients of the decoder and of the bias were made in forward.
  void backward(const StepContext& step, Tensor dhidden) override {
    const int64_t rows = step.batch.num_masked;
    const Tensor d = dnormalized_.first(rows);
    kernels_.layer_norm_backward(d, norm_.normalized(activated_.first(rows)), norm_.parameters(), d,
                                 norm_.gradients());
    dense_.activation_backward(kernels_, d, {pre_.first(rows), names_.activation}, hidden_, dhidden,
                               Into::kOverwrite);
  }

  Tensor samples() const override { return samples_; }

 private:
  static SampleDraws draws(const StepContext& step) {
    const UpdateInputs& inputs = step.state.inputs;
    return {.key = step.training ? philox_key(inputs.seed, inputs.step, kSamplingPurpose)
                                 : philox_key(0, 0, kEvaluationSamplingPurpose),
            .first_token = step.state.first_token,
            .tokens = step.batch.masked};
  }

  const ModelConfig& config_;
  const MaskedLmHeadNames names_;
  Kernels& kernels_;
  Linear dense_;
  LayerNorm norm_;
  Parameter& decoder_;  // [V,E], the word embeddings where the config ties them
  Parameter& bias_;
  Tensor hidden_;                                      // [M,H], the input of the last forward
  Tensor pre_, activated_, normalized_, dnormalized_;  // [M,E]
  Tensor tile_;                   // of the logits [M,V], which are never in memory as a whole
  Tensor predictions_;            // [M,2]
  Tensor all_samples_, samples_;  // int32 [M], of a generator; from the last forward pass
};

}  // namespace

std::unique_ptr<Head> make_masked_lm_head(const ModelConfig& config, Parameters& parameters,
                                          Kernels& kernels) {
  return std::make_unique<MaskedLmHead>(config, parameters, kernels);
}

}  // namespace berth
