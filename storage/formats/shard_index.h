#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "storage/formats/tensor_file.h"

namespace berth {

// The index of a model that is split into several files. It says which file contains which tensor,
// in the format of transformers (model.safetensors.index.json, pytorch_model.bin.index.json):
//
//   {"metadata": {...}, "weight_map": {"<tensor>": "<file>", ...}}
struct ShardIndex {
  std::map<std::string, std::string> file_of;  // file name for each tensor

  std::vector<std::string> files() const;  // sorted, without duplicates
};

// Parses an index. Throws kCorrupt, naming the byte or the tensor, if it is malformed or if a
// tensor appears twice. Also throws it if a file name is not the plain name of a file beside the
// index.
ShardIndex parse_shard_index(std::string_view json);

// Presents the tensors of several files as one reader. Owns the files' readers. Thread-safe once
// built.
class JoinedTensors final : public TensorReader {
 public:
  struct Shard {
    std::string file;
    std::unique_ptr<TensorReader> tensors;
  };

  // Throws kCorrupt, naming the tensor and the files, if a tensor is in two shards, or is not in
  // the shard that the index names.
  JoinedTensors(const ShardIndex& index, std::vector<Shard> shards);

  std::span<const NamedTensor> tensors() const override { return tensors_; }

 private:
  std::vector<Shard> shards_;
  std::vector<NamedTensor> tensors_;
};

}  // namespace berth
