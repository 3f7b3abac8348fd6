#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "storage/formats/tensor_bundle.h"
#include "storage/formats/tensor_file.h"

namespace berth {

// A TensorFlow checkpoint of BERT or ALBERT under Hugging Face names and shapes, for
// load_parameters(): TF1 variables (google-research/bert and albert) and TF2 object graphs (TF
// Model Garden). Kernels are transposed when they are read(), all else is borrowed from the shards.
// Variables that are no part of a known model keep their names. Thread-safe once built.
class TensorflowModel final : public TensorReader {
 public:
  // Leaves the checksums to verify(). Throws as TensorBundleReader does; kBadData, naming the
  // variables, when one's shape is not its layer's, two claim one name, or the model is
  // albert_zh's, which is not ALBERT's architecture.
  TensorflowModel(TensorBundleIndex index, const ShardBytes& shards);

  std::span<const NamedTensor> tensors() const override { return tensors_; }
  Bytes read_rows(const NamedTensor& tensor, int64_t first_row, int64_t count,
                  std::vector<std::byte>& memory) const override;

  void verify() const override { bundle_.verify(); }

  // What only training needs, not read: optimizer slots, step and save counters; and a pooler that
  // another, trained one replaces.
  std::span<const std::string> ignored() const { return ignored_; }

 private:
  std::vector<std::string> ignored_;
  TensorBundleReader bundle_;
  std::vector<NamedTensor> tensors_;
  std::map<std::string, Bytes, std::less<>> kernels_;  // as TensorFlow has them, by new name
};

// Whether a variable belongs to training, not to the model: a scalar, a TF2 optimizer's, or a slot
// of another variable of the index ("<variable>/adam_m").
bool is_training_state(const TensorBundleIndex& index, const BundleEntry& entry);

}  // namespace berth
