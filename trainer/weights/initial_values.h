#pragma once

#include <cstdint>
#include <span>

#include "trainer/model/parameter_tensors.h"

namespace berth {

// Overwrites the parameters at `indices` with their initial values: normal with the deviation
// `initializer_range`, zeros or ones, as their specs say. The values depend on the seed, the name
// and the shape only, not on the number of threads.
void initialize(ParameterTensors& values, std::span<const size_t> indices, double initializer_range,
                uint64_t seed, int threads);
// The same for every parameter.
void initialize(ParameterTensors& values, double initializer_range, uint64_t seed, int threads);

}  // namespace berth
