#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/formats/tensor_file.h"

namespace berth {

// One safetensors file (github.com/huggingface/safetensors):
//
//   u64 N | N bytes of JSON: {"name": {"dtype", "shape", "data_offsets": [begin, end]}, ...} | data
//
// Offsets count from the beginning of the data. The tensors must cover the data without holes or
// overlaps. `file` must outlive the reader. Thread-safe once built.
class SafetensorsReader final : public TensorReader {
 public:
  // Throws kCorrupt, naming the tensor or the byte offset, on a malformed header, range or size.
  explicit SafetensorsReader(Bytes file);

  std::span<const NamedTensor> tensors() const override { return tensors_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

 private:
  std::vector<NamedTensor> tensors_;
  std::map<std::string, std::string> metadata_;
};

// Reads what stands before the data from a file of `file_size` bytes. Returns the tensors in the
// order of their data, which follow end to end, without `data`. Throws as SafetensorsReader does.
std::vector<NamedTensor> read_safetensors_header(ByteSource& source, uint64_t file_size);

// Writes the tensors in the given order. The header is padded so that the data begin at a multiple
// of 8 bytes. The caller must order the tensors so that each offset is a multiple of the tensor's
// element size. transformers requires the metadata {"format": "pt"}. Does not close the sink.
void write_safetensors(ByteSink& sink, std::span<const NamedTensor> tensors,
                       const std::map<std::string, std::string>& metadata);

// Like write_safetensors(), but the tensors' bytes are lent to the sink (ByteSink::lend), so they
// must stay unchanged until it is closed.
void lend_safetensors(ByteSink& sink, std::span<const NamedTensor> tensors,
                      const std::map<std::string, std::string>& metadata);

// Like write_safetensors(), but the data of tensor i is bytes_of(i), which only needs to stay valid
// until the next call. The `data` members are not read.
void write_safetensors(ByteSink& sink, std::span<const NamedTensor> tensors,
                       const std::map<std::string, std::string>& metadata,
                       const std::function<Bytes(size_t index)>& bytes_of);

// Writes only what stands before the data. The caller then writes the data of all tensors, end to
// end. The `data` members are not read.
void begin_safetensors(ByteSink& sink, std::span<const NamedTensor> tensors,
                       const std::map<std::string, std::string>& metadata);

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
