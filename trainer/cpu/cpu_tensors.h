#pragma once

#include <atomic>
#include <functional>

#include "trainer/cpu/kernels/tensor.h"
#include "trainer/cpu/parameters.h"
#include "trainer/model/parameter_tensors.h"

namespace berth {

// The CPU engine's tensors as every engine shows them. Borrows the parameters.
class CpuTensors final : public ParameterTensors {
 public:
  // `tensor_of` says where the tensor of a parameter lies.
  CpuTensors(const Parameters& parameters, std::function<Tensor(size_t index)> tensor_of)
      : parameters_(parameters), tensor_of_(std::move(tensor_of)) {}
  // The parameters' values.
  explicit CpuTensors(const Parameters& parameters)
      : CpuTensors(parameters, [&](size_t index) { return parameters.value(index); }) {}

  using ParameterTensors::read;
  std::span<const ParameterSpec> specs() const override { return parameters_.specs(); }
  void read(size_t index, int64_t first, std::span<float> values) const override;
  void write(size_t index, int64_t first, Bytes values) override;
  // Whether anything was written since the last call.
  bool take_written() { return written_.exchange(false); }

 private:
  const Parameters& parameters_;
  std::function<Tensor(size_t index)> tensor_of_;
  std::atomic<bool> written_ = false;
};

}  // namespace berth
