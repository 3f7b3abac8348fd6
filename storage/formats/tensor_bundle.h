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

// Reads and writes TensorFlow's checkpoint format V2 (tensorflow/core/util/tensor_bundle).
// PREFIX.index is a sorted table that describes each tensor. The data are in
// PREFIX.data-00000-of-00001 and so on.

// Returns the name of data file number `shard` of PREFIX: "model.ckpt.data-00000-of-00002".
std::string shard_name(std::string_view prefix, int32_t shard, int32_t num_shards);

// Returns PREFIX if `name` is a file of a checkpoint (.meta included), otherwise `name` itself.
std::string_view bundle_prefix(std::string_view name);

// The contents of a checkpoint's .index file, without tensor data. Borrows nothing. Thread-safe.
class TensorBundleIndex {
 public:
  // Throws kCorrupt, naming the byte or the tensor, on damage (every block has a checksum). Throws
  // kBadData if the checkpoint is big-endian or of a later version, and kMemory above the limits in
  // tensor_bundle/table.h.
  explicit TensorBundleIndex(Bytes index_file);

  // Every variable, sorted by name. Strings and unsupported element types are included.
  std::span<const BundleEntry> tensors() const { return tensors_; }
  const BundleEntry* find(std::string_view name) const;  // nullptr if there is no such variable
  int32_t num_shards() const { return num_shards_; }

  // The entry of one slice of a partitioned variable. Throws kCorrupt if it is missing.
  const BundleEntry& slice(const BundleEntry& variable, size_t slice_index) const;

 private:
  std::vector<BundleEntry> tensors_;
  std::map<std::string, BundleEntry, std::less<>> slices_;  // by key
  int32_t num_shards_ = 1;
};

// Returns the bytes of one shard, which must stay valid as long as the reader. Throws kNotFound,
// naming the file, if the shard is absent. Called once for each shard that is needed.
using ShardBytes = std::function<Bytes(int32_t shard)>;

// Whether to read a variable. The bytes of other variables are not touched. An empty function
// selects all.
using WantedTensors = std::function<bool(const BundleEntry&)>;

// When checksums are compared: in the reader's constructor, or only in verify().
enum class Verification { kAtOnce, kLater };

// Reads a checkpoint's numeric tensors, sorted by name. A tensor that is stored in one piece is
// borrowed from its shard and may be unaligned. A partitioned variable is assembled in memory that
// the reader owns. Strings and unsupported element types (complex, quantized) are left out of
// tensors(). Thread-safe once built.
class TensorBundleReader final : public TensorReader {
 public:
  // Throws what `shards` throws. Throws kCorrupt, naming the tensor, if a range exceeds its shard,
  // if tensors overlap, or if slices do not cover their variable. Also throws it if the checksum of
  // a string does not match, and as verify() does.
  TensorBundleReader(TensorBundleIndex index, const ShardBytes& shards,
                     const WantedTensors& wanted = nullptr,
                     Verification verification = Verification::kAtOnce);

  std::span<const NamedTensor> tensors() const override { return tensors_; }
  const TensorBundleIndex& index() const { return index_; }

  // Compares the checksum of every wanted tensor, in the order of the shards' bytes. Tensors of
  // unsupported types are included.
  void verify() const override;

  // Returns the elements of a wanted string tensor, row-major, borrowed from its shard; empty if
  // there is no such tensor. Throws kCorrupt above a million elements.
  std::vector<std::string_view> strings(std::string_view name) const;

 private:
  // A range of bytes in a shard: a whole variable, or one of its slices.
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
  std::vector<Part> parts_;  // point into index_; sorted by shard and offset
  std::vector<Bytes> shards_;
  std::vector<NamedTensor> tensors_;
  std::map<std::string, Bytes, std::less<>> strings_;
  std::vector<std::vector<std::byte>> owned_;
};

// Writes the two files of a checkpoint with one shard, as TensorFlow's BundleWriter does: sorted by
// name, with uncompressed blocks and masked checksums. tf.train.load_checkpoint reads the result.
// Names must be unique and not empty. `index` is PREFIX.index and `data` is shard_name(PREFIX, 0,
// 1). Does not close the sinks. The caller should close `data` first, because the index is what
// makes the checkpoint visible.
void write_tensor_bundle(std::span<const NamedTensor> tensors, ByteSink& index, ByteSink& data);

}  // namespace berth
