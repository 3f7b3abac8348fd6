#include "trainer/cpu/cpu_engine.h"

#include <algorithm>
#include <mutex>
#include <span>
#include <vector>

#include "storage/base/error.h"
#include "storage/base/profiler.h"
#include "trainer/cpu/network/network.h"
#include "trainer/cpu/network/positions.h"
#include "trainer/model/generator.h"

namespace berth {
namespace {

std::vector<ParameterSpec> table_of(const EngineOptions& options) {
  return parameter_table(options.config, options.lora, options.optimizer.first_depth);
}

}  // namespace

GradientRule gradient_rule(const EngineOptions& options, DType product_dtype) {
  const RankOptions& ranks = options.ranks;
  const bool is_shared = ranks.size > 1;
  // LAMB stores its step in the gradient's place, so it needs fp32 sums in memory. Ranks that share
  // the optimizer do so, too, because each has exact sums for its own parameters. Where gradients
  // travel in fp32, they must not have been rounded to bf16 as whole ones are.
  const bool needs_sums = options.optimizer.type != OptimizerType::kAdamW ||
                          (is_shared && (ranks.shards_optimizer ||
                                         size_of(ranks.reduce_dtype) > size_of(product_dtype)));
  const bool has_parts = options.micro_batches > 1 || options.limits.part_sequences > 0;
  if (!options.trains || has_parts || needs_sums) return {};
  return {.update_tokens = (options.update_tokens + ranks.size - 1) / ranks.size,
          .is_shared = is_shared};
}

std::optional<OptimizerShards> shards_of(const EngineOptions& options,
                                         std::span<const ParameterSpec> specs) {
  const bool trains = options.trains && std::ranges::any_of(specs, &ParameterSpec::trains);
  if (!trains || !options.ranks.shards_optimizer || options.ranks.size == 1) return std::nullopt;
  return OptimizerShards(specs, options.ranks.size);
}

std::optional<int64_t> moment_elements(const std::optional<OptimizerShards>& shards, int64_t rank) {
  return shards ? std::optional(shards->elements(rank)) : std::nullopt;
}

CpuEngine::CpuEngine(const EngineInfo& info, const EngineOptions& options, Kernels& kernels)
    : info_(info),
      options_(options),
      kernels_(kernels),
      shards_(shards_of(options_, table_of(options_))),
      parameters_(
          table_of(options_), options_.trains, kernels,
          gradient_rule(options_, kernels.product_dtype()),
          shards_ ? moment_elements(shards_, options_.ranks.communicator->rank()) : std::nullopt),
      values_(parameters_) {
  if (!options_.trains) return;
  Communicator* const ranks = options_.ranks.communicator;
  const OptimizerShards* const shards = shards_ ? &*shards_ : nullptr;
  optimizer_.emplace(options_.optimizer, parameters_, kernels, shards, ranks);
  if (shards_) {
    sharded_moments_.emplace(*ranks, *shards_, parameters_);
  } else {
    first_moments_.emplace(parameters_, [this](size_t i) { return parameters_.first_moment(i); });
    second_moments_.emplace(parameters_, [this](size_t i) { return parameters_.second_moment(i); });
  }
  if (ranks != nullptr) {
    exchange_.emplace(*ranks, options_.ranks.reduce_dtype, parameters_, shards);
  }
}

ParameterTensors& CpuEngine::tensors(StateTensors which) {
  if (which == StateTensors::kValues) return values_;
  if (!optimizer_) throw Error(Code::kInternal, "an engine that only infers has no moments");
  const bool is_first = which == StateTensors::kFirstMoments;
  if (sharded_moments_) return is_first ? sharded_moments_->first() : sharded_moments_->second();
  return is_first ? *first_moments_ : *second_moments_;
}

bool CpuEngine::take_moments_written() {
  if (!optimizer_) return false;
  if (sharded_moments_) return sharded_moments_->take_written();
  const bool first = first_moments_->take_written(), second = second_moments_->take_written();
  return first || second;
}

void CpuEngine::tensors_written() {
  if (take_moments_written()) parameters_.mark_all_rows();
  if (network_) return parameters_.refresh();
  network_ = make_network(options_.config, options_.limits, parameters_, kernels_, options_.loss,
                          options_.lora, options_.ranks.communicator);
}

void CpuEngine::clear_moments() {
  std::unique_lock<std::mutex> lock;
  if (sharded_moments_) lock = sharded_moments_->lock_block();
  parameters_.clear_moments();
}

Network& CpuEngine::network() {
  if (!network_) throw Error(Code::kInternal, "the engine's parameters were not written");
  return *network_;
}

bool CpuEngine::start_update(std::span<const PackedBatch> micro_batches, const UpdateInputs& inputs,
                             const std::atomic<bool>& stop) {
  step_.begin(inputs);
  // The ranks agree on the weights of the losses, and that none of them stops.
  std::vector<double> weights = network().loss_weights(micro_batches);
  if (exchange_ && !exchange_->begin_update(stop, weights)) return false;
  network().begin_update(weights);
  for (const PackedBatch& batch : micro_batches) {
    if (!exchange_ && stop) {
      parameters_.clear_gradients();
      return false;
    }
    {
      const ProfileScope scope(kernels_.profiler(), "forward");
      network().forward(batch, step_, Phase::kTraining);
    }
    backward(&batch == &micro_batches.back());
  }
  const auto is_empty = [](const PackedBatch& batch) { return batch.num_sequences() == 0; };
  if (std::ranges::all_of(micro_batches, is_empty)) parameters_.make_empty_products();
  if (exchange_) {
    const ProfileScope scope(kernels_.profiler(), "waiting for other ranks");
    exchange_->finish(kernels_.profiler());
  }
  update();
  outcomes_.push_back(step_.outcome());
  if (outcomes_.back().was_applied()) parameters_.refresh();
  return true;
}

// No rank gets beyond the sums before this one has called before_change(). So a checkpoint that is
// being written may read the moments of other ranks until then.
void CpuEngine::update() {
  {
    const ProfileScope scope(kernels_.profiler(), "optimizer");
    optimizer_->add_squares(step_);
  }
  before_change();
  if (exchange_) exchange_->sum(step_);
  {
    const ProfileScope scope(kernels_.profiler(), "optimizer");
    std::unique_lock<std::mutex> lock;
    if (sharded_moments_) lock = sharded_moments_->lock_block();
    optimizer_->update(step_);
  }
  if (!sharded_moments_ || !step_.outcome().was_applied()) return;
  const ProfileScope scope(kernels_.profiler(), "gathering parameters");
  exchange_->fetch_values();
}

// Gradients travel to the other ranks while the pass computes the gradients of the layers below.
void CpuEngine::backward(bool is_last) {
  const ProfileScope scope(kernels_.profiler(), "backward");
  if (!exchange_ || !is_last) return network().backward(step_);
  network().backward(step_, [this](int64_t depth) { exchange_->are_final(depth); });
}

UpdateOutcome CpuEngine::collect_update() {
  const UpdateOutcome outcome = outcomes_.front();
  outcomes_.pop_front();
  return outcome;
}

std::vector<float> CpuEngine::infer(const PackedBatch& batch, LossSum& loss) {
  StepState state;
  state.begin({});
  // The sum continues from its old value, so that it does not depend on how rows are cut into
  // batches.
  state.loss_sum = loss.loss;
  state.examples = loss.weight;
  state.second_loss_sum = loss.second_loss;
  state.second_examples = loss.second_weight;
  network().forward(batch, state, Phase::kEvaluation);
  loss = {.loss = state.loss_sum,
          .weight = state.examples,
          .second_loss = state.second_loss_sum,
          .second_weight = state.second_examples};
  return network().outputs();
}

namespace {

FactoredExtent factored_extent(const GradientRule& rule, Parameters& parameters) {
  FactoredExtent extent;
  for (const Parameter& parameter : parameters.handles()) {
    if (parameter.form() != GradientForm::kFactored) continue;
    const int64_t size = parameter.value().rows() + parameter.value().columns();
    extent = {.tokens = rule.update_tokens,
              .rows_and_columns = std::max(extent.rows_and_columns, size)};
  }
  return extent;
}

int64_t deepest(Parameters& parameters) {
  int64_t most = 0;
  for (const Parameter& parameter : parameters.handles()) {
    if (parameter.value().rank > 1) most = std::max(most, parameter.value().columns());
  }
  return most;
}

ScratchExtent scratch_extent(const EngineOptions& options, const GradientRule& rule,
                             Parameters& parameters) {
  const ModelConfig& config = options.config;
  const ModelConfig second = config.generator ? generator_config(config) : config;
  return {.longest = options.longest,
          .heads = std::max(config.num_attention_heads, second.num_attention_heads),
          .head_size = std::max(config.head_size(), second.head_size()),
          .positions = 2 * config.relative_span(),
          .bias_rows = config.position_bias_buckets,
          .deepest = deepest(parameters),
          .factored = factored_extent(rule, parameters)};
}

}  // namespace

EngineMemory engine_memory(const EngineOptions& options, Kernels& kernels) {
  const std::vector<ParameterSpec> specs = table_of(options);
  const GradientRule rule = gradient_rule(options, kernels.product_dtype());
  Parameters parameters = Parameters::plan(specs, options.trains, kernels, rule,
                                           moment_elements(shards_of(options, specs), /*rank=*/0));
  const size_t activations =
      planned_network_bytes(options.config, options.limits, parameters, kernels, options.lora);
  // Includes the packed copies and factors of the handles that the network has created.
  const ParameterBytes bytes = parameters.bytes();
  return {.parameters = bytes.values,
          .gradients = bytes.gradients,
          .moments = bytes.moments,
          .activations = activations,
          .scratch = kernels.scratch_bytes(scratch_extent(options, rule, parameters)) +
                     bytes.packed + RotaryPositions::table_bytes(options.config, options.longest)};
}

}  // namespace berth
