#pragma once

#include <span>

#include "storage/formats/tensor_file.h"
#include "trainer/cpu/kernels/kernels.h"

namespace berth {

// One tensor of a file, and where it goes: fp32, of as many elements.
struct TensorUpload {
  NamedTensor source;
  Tensor target;
};

// Reads the tensors as fp32 to where the backend computes, some rows of one at a time on each of
// the threads that this process may use: a mapped file's pages, the target's and a transposition
// take the time of all cores, and a thread holds few megabytes, however large a tensor is. Where
// several fail, throws what the first of them, in the given order, has thrown.
void upload_tensors(const TensorReader& file, std::span<const TensorUpload> uploads,
                    Kernels& kernels);

}  // namespace berth
