#include "trainer/loop/snapshot.h"

#include "storage/formats/safetensors.h"
#include "trainer/model/pretrained.h"

namespace berth {

void Snapshot::take(const TrainingState& state, const Parameters& parameters,
                    const Optimizer& optimizer, Kernels& kernels) {
  state_ = state;
  if (parameter_tensors_.empty()) {
    for (std::vector<float>* block : {&parameters_, &first_moment_, &second_moment_}) {
      block->resize(static_cast<size_t>(parameters.size()));
    }
    parameter_tensors_ = tensors_over(parameters, parameters_, "");
    moment_tensors_ = tensors_over(parameters, first_moment_, kFirstMoment);
    for (NamedTensor& tensor : tensors_over(parameters, second_moment_, kSecondMoment)) {
      moment_tensors_.push_back(std::move(tensor));
    }
  }
  kernels.download(parameters_.data(), parameters.values());
  kernels.download(first_moment_.data(), optimizer.first_moment());
  kernels.download(second_moment_.data(), optimizer.second_moment());
}

void Snapshot::write_parameters(ByteSink& sink) const {
  write_safetensors(sink, parameter_tensors_, {{"format", "pt"}});
}

void Snapshot::write_moments(ByteSink& sink) const { write_safetensors(sink, moment_tensors_, {}); }

}  // namespace berth
