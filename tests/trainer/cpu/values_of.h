#pragma once

#include <numeric>
#include <span>
#include <stdexcept>
#include <vector>

#include "trainer/cpu/parameters.h"
#include "trainer/weights/adapters.h"
#include "trainer/weights/initial_values.h"
#include "trainer/weights/pretrained.h"
#include "trainer/weights/write_tensors.h"

// Calls the functions of trainer/weights on the CPU's parameters, without an engine.
namespace berth {

inline LoadReport load_parameters(const TensorReader& file, Parameters& parameters) {
  CpuTensors values(parameters);
  return load_parameters(file, values, /*threads=*/1);
}

inline void initialize(Parameters& parameters, std::span<const size_t> indices,
                       double initializer_range, uint64_t seed) {
  CpuTensors values(parameters);
  initialize(values, indices, initializer_range, seed, /*threads=*/1);
}

inline void initialize(Parameters& parameters, double initializer_range, uint64_t seed) {
  CpuTensors values(parameters);
  initialize(values, initializer_range, seed, /*threads=*/1);
}

inline void save_parameters(const Parameters& parameters, DType dtype, ByteSink& sink) {
  const CpuTensors values(parameters);
  write_tensors(sink, saved_tensors(values), dtype, {{"format", "pt"}});
}

inline void merge_adapters(const LoraOptions& lora, const Parameters& adapted, Parameters& merged) {
  CpuTensors target(merged);
  merge_adapters(lora, CpuTensors(adapted), target);
}

inline void save_adapter(const Parameters& parameters, DType dtype, ByteSink& sink) {
  save_adapter(CpuTensors(parameters), dtype, sink);
}

// Copies the adapters and the head from a file of PEFT. Throws std::runtime_error if one is not
// there, or has another size.
inline void load_adapter(const TensorReader& file, Parameters& parameters) {
  CpuTensors values(parameters);
  for (size_t i = 0; i < parameters.specs().size(); ++i) {
    const ParameterSpec& spec = parameters.specs()[i];
    if (!spec.is_adapter && !spec.is_head) continue;
    const NamedTensor* const found = file.find("base_model.model." + spec.name);
    if (found == nullptr || found->shape != spec.shape) throw std::runtime_error(spec.name);
    values.write(i, 0, found->data);
  }
}

}  // namespace berth
