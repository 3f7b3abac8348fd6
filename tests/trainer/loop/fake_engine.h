#pragma once

#include <deque>
#include <limits>
#include <set>
#include <vector>

#include "trainer/engine/engine.h"

namespace berth {

// An engine with one parameter. Each update adds the number of its batch's tokens to the parameter,
// unless the update is one of `wrong`. The engine computes nothing else, so tests of the loop's
// rules take milliseconds. Several updates may be in flight, as on a device.
class FakeEngine final : public Engine {
 public:
  explicit FakeEngine(size_t updates_in_flight = 0)
      : info_{.description = "fake", .updates_in_flight = updates_in_flight} {}

  const EngineInfo& info() const override { return info_; }
  ParameterTensors& tensors(StateTensors which) override {
    return state_[static_cast<size_t>(which)];
  }
  void tensors_written() override {}
  void clear_moments() override {}
  bool start_update(std::span<const PackedBatch> micro_batches, const UpdateInputs& inputs,
                    const std::atomic<bool>& stop) override {
    if (stop) return false;
    started.push_back(inputs.step);
    most_in_flight = std::max(most_in_flight, outcomes_.size() + 1);
    const bool goes_wrong = wrong.erase(static_cast<int64_t>(started.size())) > 0;
    int64_t tokens = 0;
    for (const PackedBatch& batch : micro_batches) tokens += batch.num_tokens();
    before_change();
    if (!goes_wrong) set_value(value() + static_cast<float>(tokens));
    outcomes_.push_back(
        {.loss_sum = goes_wrong ? std::numeric_limits<double>::quiet_NaN() : 1, .examples = 1});
    return true;
  }
  UpdateOutcome collect_update() override {
    const UpdateOutcome outcome = outcomes_.front();
    outcomes_.pop_front();
    return outcome;
  }
  double compile_seconds() const override {
    return compiles_s * static_cast<double>(started.size());
  }
  std::vector<float> infer(const PackedBatch& batch, LossSum& loss) override {
    loss = {.loss = loss.loss + evaluation_loss, .weight = loss.weight + 1};
    return std::vector<float>(static_cast<size_t>(2 * batch.num_sequences()));
  }

  float value() const { return state_[0].ParameterTensors::read(0)[0]; }
  void set_value(float value) {
    state_[0].write(0, 0, std::as_bytes(std::span<const float>(&value, 1)));
  }

  std::set<int64_t> wrong;        // the updates that diverge, counted from 1 as they are started
  std::vector<uint64_t> started;  // UpdateInputs::step of each started update
  size_t most_in_flight = 0;
  double evaluation_loss = 1;
  double compiles_s = 0;  // how long each start of an update claims to have compiled

 private:
  const EngineInfo info_;
  HostTensors state_[3] = {HostTensors({{.name = "number", .shape = {1}}}),
                           HostTensors({{.name = "number", .shape = {1}}}),
                           HostTensors({{.name = "number", .shape = {1}}})};
  std::deque<UpdateOutcome> outcomes_;
};

}  // namespace berth
