#include "trainer/loop/snapshot.h"

#include <map>
#include <string>
#include <utility>

#include "storage/formats/safetensors.h"

namespace berth {
namespace {

using Metadata = std::map<std::string, std::string>;

// The moments of the parameters that train. No others exist.
std::vector<SavedTensor> saved_moments(const Engine& engine) {
  std::vector<SavedTensor> moments;
  for (const auto& [which, prefix] : {std::pair(StateTensors::kFirstMoments, kFirstMoment),
                                      std::pair(StateTensors::kSecondMoments, kSecondMoment)}) {
    for (SavedTensor& tensor : saved_tensors(engine.tensors(which), prefix, Saved::kTraining)) {
      moments.push_back(std::move(tensor));
    }
  }
  return moments;
}

void copy(std::optional<CopiedTensors>& copied, std::span<const SavedTensor> tensors) {
  if (copied) return copied->copy(tensors);
  copied.emplace(tensors);
}

void write(ByteSink& sink, std::span<const SavedTensor> tensors,
           const std::optional<CopiedTensors>& copied, const Metadata& metadata) {
  if (copied) {
    lend_safetensors(sink, copied->tensors(), metadata);
  } else {
    write_tensors(sink, tensors, DType::kF32, metadata);
  }
}

}  // namespace

void Snapshot::take(const TrainingState& state, const Engine& engine) {
  state_ = state;
  parameters_ = saved_tensors(engine.tensors(StateTensors::kValues));
  moments_ = saved_moments(engine);
  copy(parameter_copy_, parameters_);
  copy(moment_copy_, moments_);
}

void Snapshot::refer_to(const TrainingState& state, const Engine& engine) {
  clear();
  state_ = state;
  parameters_ = saved_tensors(engine.tensors(StateTensors::kValues));
  moments_ = saved_moments(engine);
}

void Snapshot::write_parameters(ByteSink& sink) const {
  write(sink, parameters_, parameter_copy_, {{"format", "pt"}});
}

void Snapshot::write_moments(ByteSink& sink) const { write(sink, moments_, moment_copy_, {}); }

}  // namespace berth
