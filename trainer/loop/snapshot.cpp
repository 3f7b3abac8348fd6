#include "trainer/loop/snapshot.h"

#include <algorithm>

#include "storage/formats/safetensors.h"
#include "trainer/weights/pretrained.h"

namespace berth {

size_t first_trained(const Parameters& parameters) {
  const auto first = std::ranges::find_if(parameters.specs(), &ParameterSpec::trains);
  return static_cast<size_t>(first - parameters.specs().begin());
}

void Snapshot::take(const TrainingState& state, const Parameters& parameters,
                    const Optimizer& optimizer, Kernels& kernels) {
  state_ = state;
  const size_t first = first_trained(parameters);
  const int64_t begin = first < parameters.specs().size() ? parameters.offset(first) : 0;
  const int64_t count = parameters.size() - begin;
  kernels_ = nullptr;
  if (parameter_tensors_.empty()) {
    parameters_.resize(static_cast<size_t>(parameters.size()));
    parameter_tensors_ = tensors_over(parameters, parameters_, "");
    for (const auto& [block, prefix] :
         {std::pair(&first_moment_, kFirstMoment), std::pair(&second_moment_, kSecondMoment)}) {
      block->resize(static_cast<size_t>(count));
      for (NamedTensor& tensor : tensors_over(parameters, *block, prefix, first)) {
        moment_tensors_.push_back(std::move(tensor));
      }
    }
  }
  kernels.download(parameters_.data(), parameters.values());
  kernels.download(first_moment_.data(), optimizer.first_moment().slice(begin, count));
  kernels.download(second_moment_.data(), optimizer.second_moment().slice(begin, count));
}

void Snapshot::refer_to(const TrainingState& state, const Parameters& parameters,
                        const Optimizer& optimizer, Kernels& kernels) {
  clear();
  state_ = state;
  kernels_ = &kernels;
  placed_parameters_ = placed_tensors(parameters, parameters.values(), "");
  const size_t first = first_trained(parameters);
  for (const auto& [block, prefix] : {std::pair(optimizer.first_moment(), kFirstMoment),
                                      std::pair(optimizer.second_moment(), kSecondMoment)}) {
    for (PlacedTensor& tensor : placed_tensors(parameters, block, prefix, first)) {
      placed_moments_.push_back(std::move(tensor));
    }
  }
}

uint64_t Snapshot::parameter_bytes() const {
  return kernels_ != nullptr ? size_bytes_of(placed_parameters_)
                             : parameters_.size() * sizeof(float);
}

uint64_t Snapshot::moment_bytes() const {
  return kernels_ != nullptr ? size_bytes_of(placed_moments_)
                             : 2 * first_moment_.size() * sizeof(float);
}

void Snapshot::write_parameters(ByteSink& sink) const {
  const std::map<std::string, std::string> metadata = {{"format", "pt"}};
  if (kernels_ != nullptr) {
    write_placed(sink, placed_parameters_, DType::kF32, metadata, *kernels_);
  } else {
    lend_safetensors(sink, parameter_tensors_, metadata);
  }
}

void Snapshot::write_moments(ByteSink& sink) const {
  if (kernels_ != nullptr) {
    write_placed(sink, placed_moments_, DType::kF32, {}, *kernels_);
  } else {
    lend_safetensors(sink, moment_tensors_, {});
  }
}

}  // namespace berth
