#include "trainer/loop/update_pipeline.h"

namespace berth {

bool UpdatePipeline::start(const UpdateBatch& batch, const UpdateInputs& inputs,
                           const std::atomic<bool>& stop) {
  if (updates_.empty()) {
    since_ = std::chrono::steady_clock::now();
    compiled_s_ = engine_.compile_seconds();
  }
  if (!engine_.start_update(batch.micro_batches, inputs, stop)) return false;
  double flops = 0;
  for (const PackedBatch& micro_batch : batch.micro_batches) flops += flops_.of(micro_batch);
  updates_.push_back({.examples = batch.examples,
                      .tokens = batch.tokens,
                      .begin = batch.begin,
                      .end = batch.end,
                      .after = batch.after,
                      .flops = flops});
  return true;
}

std::optional<UpdatePipeline::Update> UpdatePipeline::collect(size_t most_in_flight) {
  if (updates_.size() <= most_in_flight) return std::nullopt;
  Update update = updates_.front();
  updates_.pop_front();
  update.outcome = engine_.collect_update();
  const auto now = std::chrono::steady_clock::now();
  const double compiled_s = engine_.compile_seconds();
  update.seconds = std::chrono::duration<double>(now - since_).count() - (compiled_s - compiled_s_);
  since_ = now;
  compiled_s_ = compiled_s;
  return update;
}

void UpdatePipeline::discard() {
  for (; !updates_.empty(); updates_.pop_front()) engine_.collect_update();
}

}  // namespace berth
