#include "trainer/loop/snapshot.h"

#include <algorithm>

#include "storage/formats/safetensors.h"
#include "trainer/model/pretrained.h"

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

void Snapshot::write_parameters(ByteSink& sink) const {
  lend_safetensors(sink, parameter_tensors_, {{"format", "pt"}});
}

void Snapshot::write_moments(ByteSink& sink) const { lend_safetensors(sink, moment_tensors_, {}); }

}  // namespace berth
