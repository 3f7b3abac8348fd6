#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "storage/formats/tensor_file.h"

namespace berth {

// Which file holds which tensor of a model that is spread over several, as transformers writes it
// (model.safetensors.index.json, pytorch_model.bin.index.json):
//
//   {"metadata": {...}, "weight_map": {"<tensor>": "<file>", ...}}
struct ShardIndex {
  std::map<std::string, std::string> file_of;  // by tensor

  std::vector<std::string> files() const;  // each once, sorted
};

// Throws kCorrupt, naming the byte or the tensor, on anything else: tensors that stand twice, names
// that are more than a file beside the index.
ShardIndex parse_shard_index(std::string_view json);

// The tensors of several files as one. Owns the readers. Thread-safe once built.
class JoinedTensors final : public TensorReader {
 public:
  struct Shard {
    std::string file;
    std::unique_ptr<TensorReader> tensors;
  };

  // Throws kCorrupt, naming the tensor and the files, where one is in two shards or is not in the
  // one that the index names.
  JoinedTensors(const ShardIndex& index, std::vector<Shard> shards);

  std::span<const NamedTensor> tensors() const override { return tensors_; }

 private:
  std::vector<Shard> shards_;
  std::vector<NamedTensor> tensors_;
};

}  // namespace berth
