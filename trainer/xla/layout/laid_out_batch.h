#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "storage/base/dtype.h"
#include "trainer/model/batch.h"
#include "trainer/model/config.h"
#include "trainer/model/replaced_tokens.h"
#include "trainer/xla/network/batch_inputs.h"

namespace berth {

// Where sequences lie in rows of a fixed length. Each lies whole in one row and begins at a column
// that is a multiple of 8.
struct RowPacking {
  int64_t rows = 0;
  std::vector<int32_t> row, column;  // of each sequence: its row, and the column of its first token
};

// Packs the sequences, sequence b being the tokens from cu_seqlens[b] to cu_seqlens[b+1]. Longest
// first, each goes to the fullest row that has room for it (best-fit decreasing; Johnson et al.
// 1974, SIAM J. Comput. 3:299). The same lengths are always packed in the same way. Throws
// kInternal for a sequence longer than `row_length`.
RowPacking pack_rows(std::span<const int32_t> cu_seqlens, int64_t row_length);

// The columns of rows for batches within `limits` and sequences of at most `longest` tokens: a
// multiple of 8. Short sequences share a row of up to 128 columns, because attention takes little
// of the time there. They do so only if this leaves four rows or more for each of `replicas`
// replicas.
int64_t row_length_for(const BatchLimits& limits, int64_t longest, int64_t replicas);

// The shapes to which batches are filled up, smallest first and six at most. They are for batches
// within `limits` and sequences of at most `longest` tokens. Each of `replicas` replicas takes the
// same number of rows. The shapes differ in the number of rows. Every batch within the limits fits
// the last one, however its sequences are packed by pack_rows() and its rows are dealt out in turn.
std::vector<BatchShape> batch_shapes(const BatchLimits& limits, int64_t longest, int64_t replicas);

// The rows that each replica would need for the most tokens if all rows were full.
int64_t full_rows(const BatchLimits& limits, int64_t longest, int64_t replicas);

// The first shape that `needed` fits. Throws kInternal where none has.
const BatchShape& smallest_shape(std::span<const BatchShape> shapes, const BatchShape& needed);

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
  // Where the logits of the batch's rows are: of its T tokens, B sequences, B examples or M masked
  // tokens, in that order, or of sequences and masked tokens as Engine::infer() orders them.
  // Element i counts the rows of all replicas' logits, laid end to end.
  std::vector<int64_t> logit_rows{};
};

// What a batch's inputs depend on besides the batch.
struct UpdateNumbers {
  float next_weight = 1;       // the factor of each loss of next sentences
  SamplingKey sampling_key{};  // of the ids that a generator draws
  // Gradient caching: the gradients [B,H] of the batch's outputs, and the sums of losses and
  // weights that it adds. Empty: the batch has its own loss.
  std::span<const float> gradients{};
  std::array<float, 2> loss_sums{};
};

// Lays a batch out in the first of `shapes` that has room for all parts. Shapes are as
// batch_shapes() returns them. Rows are dealt out to the replicas in turn. What the batch does not
// fill is padding as BatchInputs describes it. The batch's ids must be inside the tables
// (check_ids()), and its labels must be of the config's task or absent. Throws kInternal where the
// batch does not fit.
LaidOutBatch lay_out(const PackedBatch& batch, const ModelConfig& config,
                     std::span<const BatchShape> shapes, int64_t replicas = 1,
                     const UpdateNumbers& numbers = {});

// The same for a program that compares the outputs [B,H] of a batch whose examples have several
// sequences. Each replica gets all outputs.
LaidOutBatch lay_out_outputs(const PackedBatch& batch, const ModelConfig& config,
                             std::span<const float> outputs, int64_t replicas);

// The rows of `stacked` [N,C], the logits of all replicas, in the order of the batch: [T,C], [B,C]
// or [M,C].
std::vector<float> packed_order(std::span<const float> stacked, std::span<const int64_t> logit_rows,
                                int64_t columns);

}  // namespace berth
