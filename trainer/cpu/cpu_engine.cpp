#include "trainer/cpu/cpu_engine.h"

#include "storage/base/error.h"
#include "storage/base/profiler.h"

namespace berth {

int64_t one_batch_tokens(const EngineOptions& options) {
  const bool is_one_batch = options.trains && options.micro_batches == 1 && options.ranks.size == 1;
  // LAMB stores its step in the gradient's place, so it needs an fp32 sum in memory.
  return is_one_batch && options.optimizer.type == OptimizerType::kAdamW ? options.update_tokens
                                                                         : 0;
}

CpuEngine::CpuEngine(const EngineInfo& info, const EngineOptions& options, Kernels& kernels)
    : info_(info),
      options_(options),
      kernels_(kernels),
      parameters_(parameter_table(options_.config, options_.lora, options_.optimizer.first_depth),
                  options_.trains, kernels, one_batch_tokens(options_)),
      values_(parameters_) {
  if (!options_.trains) return;
  optimizer_.emplace(options_.optimizer, parameters_, kernels);
  first_moments_.emplace(parameters_, [this](size_t i) { return parameters_.first_moment(i); });
  second_moments_.emplace(parameters_, [this](size_t i) { return parameters_.second_moment(i); });
  if (Communicator* const ranks = options_.ranks.communicator) {
    exchange_.emplace(*ranks, ReducerOptions{.wire_dtype = options_.ranks.reduce_dtype},
                      parameters_);
  }
}

ParameterTensors& CpuEngine::tensors(StateTensors which) {
  if (which == StateTensors::kValues) return values_;
  if (!optimizer_) throw Error(Code::kInternal, "an engine that only infers has no moments");
  return which == StateTensors::kFirstMoments ? *first_moments_ : *second_moments_;
}

void CpuEngine::tensors_written() {
  if (optimizer_) {
    const bool first = first_moments_->take_written(), second = second_moments_->take_written();
    if (first || second) parameters_.mark_all_rows();
  }
  if (network_) return network_->refresh();
  network_ = make_network(options_.config, options_.limits, parameters_, kernels_, options_.loss,
                          options_.lora);
}

void CpuEngine::clear_moments() { parameters_.clear_moments(); }

Network& CpuEngine::network() {
  if (!network_) throw Error(Code::kInternal, "the engine's parameters were not written");
  return *network_;
}

bool CpuEngine::start_update(std::span<const PackedBatch> micro_batches, const UpdateInputs& inputs,
                             const std::atomic<bool>& stop) {
  step_.begin(inputs);
  network().begin_update(micro_batches);
  if (exchange_ && exchange_->any(stop)) return false;
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
  if (exchange_) {
    const ProfileScope scope(kernels_.profiler(), "waiting for other ranks");
    exchange_->finish(step_, kernels_.profiler());
  }
  before_change();
  const ProfileScope scope(kernels_.profiler(), "optimizer");
  optimizer_->step(step_);
  outcomes_.push_back(step_.outcome());
  if (outcomes_.back().was_applied()) network().refresh();
  return true;
}

// Gradients travel to the other ranks while the pass makes those of the layers below.
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
  return network().logits();
}

}  // namespace berth
