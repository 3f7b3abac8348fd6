#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "storage/base/dtype.h"
#include "trainer/model/batch.h"
#include "trainer/model/config.h"
#include "trainer/xla/network/batch_inputs.h"

namespace berth {

// A tensor of 32-bit elements in host memory, row-major.
struct HostTensor {
  DType dtype = DType::kI32;  // kI32, kU32 or kF32
  std::vector<int64_t> dimensions{};
  std::vector<uint32_t> words{};  // the elements' bits
};

// A batch in the rows of programs, cut into a part for each replica.
struct LaidOutBatch {
  BatchShape shape{};
  // For each replica the batch's inputs of the config's programs, by name.
  std::vector<std::map<std::string, HostTensor>> replicas{};
  // Where the logits of the batch's rows are: of its T tokens, B sequences or M masked tokens, in
  // that order. Element i counts the rows of all replicas' logits, laid end to end.
  std::vector<int64_t> logit_rows{};
};

// Lays a batch out in the first of `shapes` that has room for all parts. Shapes are as
// batch_shapes() returns them. Rows are dealt out to the replicas in turn. What the batch does not
// fill is padding as BatchInputs describes it. The batch's ids must be inside the tables
// (check_ids()), and its labels must be of the config's task or absent. Throws kInternal where the
// batch does not fit.
LaidOutBatch lay_out(const PackedBatch& batch, const ModelConfig& config,
                     std::span<const BatchShape> shapes, int64_t replicas = 1);

// The rows of `stacked` [N,C], the logits of all replicas, in the order of the batch: [T,C], [B,C]
// or [M,C].
std::vector<float> packed_order(std::span<const float> stacked, std::span<const int64_t> logit_rows,
                                int64_t columns);

}  // namespace berth
