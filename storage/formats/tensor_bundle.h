#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/formats/tensor_bundle/bundle_entry.h"
#include "storage/formats/tensor_file.h"

namespace berth {

// TensorFlow's checkpoint format V2 (tensorflow/core/util/tensor_bundle): PREFIX.index, a sorted
// table of what each tensor is and where it lies, and the data in PREFIX.data-00000-of-00001, ...

// PREFIX's data file `shard`: "model.ckpt.data-00000-of-00002".
std::string shard_name(std::string_view prefix, int32_t shard, int32_t num_shards);

// PREFIX where `name` is one of a checkpoint's files, .meta included; else `name` itself.
std::string_view bundle_prefix(std::string_view name);

// A checkpoint's .index: what it holds, without its data. Nothing is borrowed. Thread-safe.
class TensorBundleIndex {
 public:
  // Throws kCorrupt, naming the byte or the tensor, on damage (every block has a checksum);
  // kBadData on what berth does not read (big-endian data, a later version); kMemory over the
  // limits of table_reader.h.
  explicit TensorBundleIndex(Bytes index_file);

  // Every variable, strings and types that berth has not included, sorted by name.
  std::span<const BundleEntry> tensors() const { return tensors_; }
  const BundleEntry* find(std::string_view name) const;  // nullptr: no such variable
  int32_t num_shards() const { return num_shards_; }

  // Where a partitioned variable's slice lies. Throws kCorrupt when it is missing.
  const BundleEntry& slice(const BundleEntry& variable, size_t slice_index) const;

 private:
  std::vector<BundleEntry> tensors_;
  std::map<std::string, BundleEntry, std::less<>> slices_;  // by key
  int32_t num_shards_ = 1;
};

// The bytes of one shard, which must stay for as long as the reader that asked. Throws kNotFound,
// naming the file, where it is absent. Called once for a shard, and only for those in use.
using ShardBytes = std::function<Bytes(int32_t shard)>;

// Which variables to read; the others' bytes are not touched. None: all.
using WantedTensors = std::function<bool(const BundleEntry&)>;

// When tensors' checksums are compared: as the reader is built, or by verify() alone.
enum class Verification { kAtOnce, kLater };

// A checkpoint's numeric tensors, sorted by name. Tensors that lie in one piece are borrowed from
// the shards, at any alignment; partitioned variables are put together in memory of the reader's.
// Strings and element types that berth has not (complex, quantized) are left out. Thread-safe once
// built.
class TensorBundleReader final : public TensorReader {
 public:
  // Throws what `shards` throws; kCorrupt, naming the tensor, on ranges outside a shard, tensors
  // that overlap, slices that do not tile their variable, strings whose checksum does not match,
  // and as verify() does.
  TensorBundleReader(TensorBundleIndex index, const ShardBytes& shards,
                     const WantedTensors& wanted = nullptr,
                     Verification verification = Verification::kAtOnce);

  std::span<const NamedTensor> tensors() const override { return tensors_; }
  const TensorBundleIndex& index() const { return index_; }

  // Every wanted tensor's checksum, those left out too, in the order of the shards' bytes.
  void verify() const override;

  // A wanted string tensor's elements, row-major, borrowed from its shard; empty where `name` is no
  // such. Throws kMemory above a million elements.
  std::vector<std::string_view> strings(std::string_view name) const;

 private:
  // What lies in the shards for a variable: itself, or one of its slices.
  struct Part {
    const BundleEntry* entry;
    const BundleEntry* variable;
  };

  void require_disjoint() const;
  void add(const BundleEntry& entry);
  Bytes located(const BundleEntry& entry) const;
  void verify(const BundleEntry& entry, Bytes data) const;
  Bytes assembled(const BundleEntry& variable);

  TensorBundleIndex index_;
  std::vector<Part> parts_;  // of index_, by place
  std::vector<Bytes> shards_;
  std::vector<NamedTensor> tensors_;
  std::map<std::string, Bytes, std::less<>> strings_;
  std::vector<std::vector<std::byte>> owned_;
};

// Writes both files of a checkpoint of one shard as TensorFlow's BundleWriter does, so that
// tf.train.load_checkpoint reads it: sorted by name, raw blocks, masked checksums. Names must
// differ and not be empty. The caller's sinks are PREFIX.index and shard_name(PREFIX, 0, 1);
// neither is closed here, and the data's should be closed first: the index makes the checkpoint.
void write_tensor_bundle(std::span<const NamedTensor> tensors, ByteSink& index, ByteSink& data);

}  // namespace berth
