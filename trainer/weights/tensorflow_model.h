#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/formats/tensor_bundle.h"
#include "storage/formats/tensor_file.h"

namespace berth {

// A row-major matrix [rows, columns]. Elements have 1, 2, 4 or 8 bytes and may be unaligned.
struct Matrix {
  Bytes bytes;
  int64_t rows, columns;
  size_t element_size;
};

// Overwrites `result` with columns [first_column, first_column + count) as the rows of a matrix
// [count, rows].
void transpose(const Matrix& matrix, int64_t first_column, int64_t count,
               std::vector<std::byte>& result);

// A TensorFlow checkpoint of BERT or ALBERT under Hugging Face names and shapes, for
// load_parameters(): TF1 variables (google-research/bert and albert) and TF2 object graphs (TF
// Model Garden). Kernels are transposed when they are read. All other data are borrowed from the
// shards. Variables that are not part of a known model keep their names. Thread-safe once built.
class TensorflowModel final : public TensorReader {
 public:
  // Does not compare checksums; verify() does. Throws as TensorBundleReader does. Throws kBadData,
  // naming the variables, if the shape of a variable does not fit its layer, or if two variables
  // map to one name. Also throws it if the model is albert_zh, which has another architecture than
  // ALBERT.
  TensorflowModel(TensorBundleIndex index, const ShardBytes& shards);

  std::span<const NamedTensor> tensors() const override { return tensors_; }
  Bytes read_rows(const NamedTensor& tensor, int64_t first_row, int64_t count,
                  std::vector<std::byte>& memory) const override;

  void verify() const override { bundle_.verify(); }

  // The variables that are left out: optimizer slots, counters of steps and saves, and an untrained
  // pooler if there is a trained one.
  std::span<const std::string> ignored() const { return ignored_; }

 private:
  std::vector<std::string> ignored_;
  TensorBundleReader bundle_;
  std::vector<NamedTensor> tensors_;
  std::map<std::string, Bytes, std::less<>> kernels_;  // in TensorFlow's layout, by their new names
};

// Whether a variable belongs to training and not to the model. Such a variable is a scalar, belongs
// to a TF2 optimizer, or is a slot of another variable of the index ("<variable>/adam_m").
bool is_training_state(const TensorBundleIndex& index, const BundleEntry& entry);

// The first of a model's tensors, by their Hugging Face names, that TensorflowVariables would
// refuse. nullopt: it takes all of them.
std::optional<std::string> without_tensorflow_name(std::span<const std::string> tensors);

// Converts a model's tensors, which have Hugging Face names, to the TF1 variables of
// google-research/bert or albert, for write_tensor_bundle(). TF Model Garden's converter and
// tf.train.load_checkpoint read these variables. Kernels are transposed into memory of this object.
// All other data are borrowed.
class TensorflowVariables final : public TensorReader {
 public:
  // Leaves out what TensorFlow derives: position_ids, and the decoder of the masked-LM head, which
  // is the word embedding. Throws kUsage, naming the tensor, if the model has another architecture.
  explicit TensorflowVariables(std::span<const NamedTensor> model);

  std::span<const NamedTensor> tensors() const override { return tensors_; }

 private:
  std::vector<NamedTensor> tensors_;
  std::vector<std::vector<std::byte>> owned_;
};

}  // namespace berth
