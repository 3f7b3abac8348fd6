#include "storage/formats/tensor_bundle.h"

#include <algorithm>
#include <utility>

#include "storage/base/error.h"
#include "storage/base/parallel_crc32c.h"
#include "storage/base/text.h"
#include "storage/formats/damage.h"
#include "storage/formats/tensor_bundle/slice_copy.h"
#include "storage/formats/tensor_bundle/string_tensor.h"

namespace berth {
namespace {

// The entries that hold a variable's bytes: the variable itself, or its slices.
std::vector<const BundleEntry*> stored_parts(const TensorBundleIndex& index,
                                             const BundleEntry& variable) {
  if (variable.slices.empty()) return {&variable};
  std::vector<const BundleEntry*> parts;
  for (size_t i = 0; i < variable.slices.size(); ++i) parts.push_back(&index.slice(variable, i));
  return parts;
}

}  // namespace

TensorBundleReader::TensorBundleReader(TensorBundleIndex index, const ShardBytes& shards,
                                       const WantedTensors& wanted, Verification verification)
    : index_(std::move(index)), shards_(static_cast<size_t>(index_.num_shards())) {
  std::vector<const BundleEntry*> variables;
  std::vector<bool> fetched(shards_.size());
  for (const BundleEntry& entry : index_.tensors()) {
    if (entry.is_opaque() || (wanted && !wanted(entry))) continue;
    variables.push_back(&entry);
    for (const BundleEntry* part : stored_parts(index_, entry)) {
      parts_.push_back({part, &entry});
      const auto shard = static_cast<size_t>(part->shard);
      if (fetched[shard] || part->size_bytes == 0) continue;
      shards_[shard] = shards(part->shard);
      fetched[shard] = true;
    }
  }
  std::sort(parts_.begin(), parts_.end(), [](const Part& a, const Part& b) {
    return std::pair(a.entry->shard, a.entry->offset) < std::pair(b.entry->shard, b.entry->offset);
  });
  require_disjoint();
  for (const BundleEntry* variable : variables) {
    try {
      add(*variable);
    } catch (const Error& error) {
      throw error.at("tensor " + quoted(variable->name));
    }
  }
  if (verification == Verification::kAtOnce) verify();
}

// Throws kCorrupt if a byte belongs to two tensors.
void TensorBundleReader::require_disjoint() const {
  const Part* before = nullptr;
  for (const Part& part : parts_) {
    const BundleEntry& entry = *part.entry;
    if (entry.size_bytes == 0) continue;
    if (before != nullptr && before->entry->shard == entry.shard &&
        entry.offset - before->entry->offset < before->entry->size_bytes) {
      throw Error(Code::kCorrupt,
                  cat("begins at byte ", entry.offset, " of shard ", entry.shard, ", inside ",
                      quoted(before->variable->name), " (", before->entry->size_bytes,
                      " bytes from ", before->entry->offset, ")"),
                  "tensor " + quoted(part.variable->name), kFetchAgain);
    }
    before = &part;
  }
}

void TensorBundleReader::add(const BundleEntry& entry) {
  if (!entry.slices.empty() && !entry.dtype()) {
    throw Error(Code::kBadData, "is partitioned although it does not hold numbers");
  }
  const Bytes data = entry.slices.empty() ? located(entry) : assembled(entry);
  if (entry.is_string()) {
    verify(entry, data);  // callers read names from strings before they call verify()
    strings_.emplace(entry.name, data);
  } else if (entry.dtype()) {  // complex and quantized types are skipped
    tensors_.push_back(
        {.name = entry.name, .dtype = *entry.dtype(), .shape = entry.shape, .data = data});
  }
}

Bytes TensorBundleReader::located(const BundleEntry& entry) const {
  const Bytes shard = shards_[static_cast<size_t>(entry.shard)];
  const uint64_t offset = entry.size_bytes == 0 ? 0 : entry.offset;
  if (offset > shard.size() || entry.size_bytes > shard.size() - offset) {
    throw Error(Code::kCorrupt,
                cat(entry.size_bytes, " bytes from byte ", offset, " of shard ", entry.shard,
                    ", which has ", shard.size()),
                "", kFetchAgain);
  }
  return shard.subspan(offset, entry.size_bytes);
}

void TensorBundleReader::verify() const {
  for (const Part& part : parts_) {
    if (part.entry->is_string()) continue;
    try {
      verify(*part.entry, located(*part.entry));
    } catch (const Error& error) {
      throw error.at("tensor " + quoted(part.variable->name));
    }
  }
}

void TensorBundleReader::verify(const BundleEntry& entry, Bytes data) const {
  const uint32_t crc =
      entry.is_string() ? string_tensor_crc32c(data, entry.elements()) : parallel_crc32c(data);
  if (crc == entry.crc32c) return;
  throw Error(Code::kCorrupt,
              cat("the checksum of its ", data.size(), " bytes, from byte ", entry.offset,
                  " of shard ", entry.shard, " on, does not match"),
              "", kFetchAgain);
}

Bytes TensorBundleReader::assembled(const BundleEntry& variable) {
  const size_t element_size = size_of(*variable.dtype());
  const std::vector<SliceBox> boxes = slice_boxes(variable);
  std::vector<Bytes> slices;
  for (size_t i = 0; i < boxes.size(); ++i) {
    const BundleEntry& slice = index_.slice(variable, i);
    if (slice.type != variable.type || slice.shape != boxes[i].length) {
      throw Error(Code::kCorrupt,
                  cat("slice ", i, " has a type or shape that does not fit its place"));
    }
    // Checks that the bytes exist before memory for the whole tensor is allocated.
    slices.push_back(located(slice));
  }
  std::vector<std::byte>& tensor =
      owned_.emplace_back(static_cast<size_t>(variable.elements()) * element_size);
  for (size_t i = 0; i < boxes.size(); ++i) {
    copy_slice(slices[i], boxes[i], variable.shape, element_size, tensor);
  }
  return tensor;
}

std::vector<std::string_view> TensorBundleReader::strings(std::string_view name) const {
  const auto found = strings_.find(name);
  if (found == strings_.end()) return {};
  try {
    return string_tensor_elements(found->second, index_.find(name)->elements());
  } catch (const Error& error) {
    throw error.at("tensor " + quoted(name));
  }
}

}  // namespace berth
