#pragma once

#include <span>

#include "storage/formats/tensor_file.h"
#include "trainer/model/parameter_tensors.h"

namespace berth {

// One tensor of a file, and the parameter that gets its numbers. They have the same number of
// elements.
struct TensorUpload {
  NamedTensor source;
  size_t parameter = 0;
};

// Reads the tensors as fp32 into `target` on at most `threads` threads. Threads help: mapping the
// pages of a file, touching the pages of the target and transposing take long on one core. A thread
// works on some rows of one tensor at a time, so it holds only a few megabytes however large the
// tensor is. If several tensors fail, throws the failure of the first one in the given order.
void upload_tensors(const TensorReader& file, std::span<const TensorUpload> uploads,
                    ParameterTensors& target, int threads);

}  // namespace berth
