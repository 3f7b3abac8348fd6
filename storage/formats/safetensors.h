#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>

#include "storage/formats/tensor_file.h"

namespace berth {

// One safetensors file (github.com/huggingface/safetensors):
//
//   u64 N | N bytes of JSON: {"name": {"dtype", "shape", "data_offsets": [begin, end]}, ...} | data
//
// Offsets count from the start of the data, which the tensors tile without hole or overlap.
// Borrows `file`, which must outlive the reader. Thread-safe once built.
class SafetensorsReader final : public TensorReader {
 public:
  // Throws kCorrupt, naming the tensor or the byte offset, on a bad header, range or size.
  explicit SafetensorsReader(Bytes file);

  std::span<const NamedTensor> tensors() const override { return tensors_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

 private:
  std::vector<NamedTensor> tensors_;
  std::map<std::string, std::string> metadata_;
};

// Writes the tensors in the given order, each aligned to 8 bytes or better by the header's padding
// and by the order of sizes (the caller's tensors must all have element sizes that divide the
// offset). metadata {"format": "pt"} is what transformers asks for. Does not close the sink.
void write_safetensors(ByteSink& sink, std::span<const NamedTensor> tensors,
                       const std::map<std::string, std::string>& metadata);

// The same, whose tensors' bytes are lent to the sink (ByteSink::lend).
void lend_safetensors(ByteSink& sink, std::span<const NamedTensor> tensors,
                      const std::map<std::string, std::string>& metadata);

// The same of tensors whose bytes are made one after the other: bytes_of(index) stay until the next
// call. The tensors' own data are not read.
void write_safetensors(ByteSink& sink, std::span<const NamedTensor> tensors,
                       const std::map<std::string, std::string>& metadata,
                       const std::function<Bytes(size_t index)>& bytes_of);

}  // namespace berth
