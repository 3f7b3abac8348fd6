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

}  // namespace berth
