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

// What lies in the shards for a variable: itself, or its slices.
std::vector<const BundleEntry*> stored_parts(const TensorBundleIndex& index,
                                             const BundleEntry& variable) {
  if (variable.slices.empty()) return {&variable};
  std::vector<const BundleEntry*> parts;
  for (size_t i = 0; i < variable.slices.size(); ++i) parts.push_back(&index.slice(variable, i));
  return parts;
}

// No byte belongs to two tensors.
void require_disjoint(std::vector<std::pair<const BundleEntry*, std::string_view>> parts) {
  std::erase_if(parts, [](const auto& part) { return part.first->size_bytes == 0; });
  std::sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) {
    return std::pair(a.first->shard, a.first->offset) < std::pair(b.first->shard, b.first->offset);
  });
  for (size_t i = 1; i < parts.size(); ++i) {
    const auto& [before, before_name] = parts[i - 1];
    const auto& [part, name] = parts[i];
    if (before->shard != part->shard) continue;
    if (part->offset - before->offset < before->size_bytes) {
      throw Error(
          Code::kCorrupt,
          cat("begins at byte ", part->offset, " of shard ", part->shard, ", inside ",
              quoted(before_name), " (", before->size_bytes, " bytes from ", before->offset, ")"),
          "tensor " + quoted(name), kFetchAgain);
    }
  }
}

}  // namespace

TensorBundleReader::TensorBundleReader(TensorBundleIndex index, const ShardBytes& shards,
                                       const WantedTensors& wanted)
    : index_(std::move(index)), shards_(static_cast<size_t>(index_.num_shards())) {
  std::vector<const BundleEntry*> variables;
  std::vector<std::pair<const BundleEntry*, std::string_view>> parts;
  std::vector<bool> fetched(shards_.size());
  for (const BundleEntry& entry : index_.tensors()) {
    if (entry.is_opaque() || (wanted && !wanted(entry))) continue;
    variables.push_back(&entry);
    for (const BundleEntry* part : stored_parts(index_, entry)) {
      parts.emplace_back(part, entry.name);
      const auto shard = static_cast<size_t>(part->shard);
      if (fetched[shard] || part->size_bytes == 0) continue;
      shards_[shard] = shards(part->shard);
      fetched[shard] = true;
    }
  }
  require_disjoint(std::move(parts));
  for (const BundleEntry* entry : variables) {
    try {
      add(*entry);
    } catch (const Error& error) {
      throw error.at("tensor " + quoted(entry->name));
    }
  }
}

void TensorBundleReader::add(const BundleEntry& entry) {
  if (entry.is_string()) {
    strings_.emplace(entry.name, verified(entry));
    return;
  }
  if (!entry.dtype()) {  // complex, quantized: nothing that berth computes with
    verified(entry);
    return;
  }
  tensors_.push_back({.name = entry.name,
                      .dtype = *entry.dtype(),
                      .shape = entry.shape,
                      .data = entry.slices.empty() ? verified(entry) : assembled(entry)});
}

Bytes TensorBundleReader::verified(const BundleEntry& entry) const {
  if (!entry.slices.empty()) throw Error(Code::kBadData, "partitioned, though not of numbers");
  const Bytes shard = shards_[static_cast<size_t>(entry.shard)];
  const uint64_t offset = entry.size_bytes == 0 ? 0 : entry.offset;
  if (offset > shard.size() || entry.size_bytes > shard.size() - offset) {
    throw Error(Code::kCorrupt,
                cat(entry.size_bytes, " bytes from byte ", offset, " of shard ", entry.shard,
                    ", which has ", shard.size()),
                "", kFetchAgain);
  }
  const Bytes data = shard.subspan(offset, entry.size_bytes);
  const uint32_t crc =
      entry.is_string() ? string_tensor_crc32c(data, entry.elements()) : parallel_crc32c(data);
  if (crc != entry.crc32c) {
    throw Error(Code::kCorrupt,
                cat("the checksum of its ", data.size(), " bytes, from byte ", offset, " of shard ",
                    entry.shard, " on, does not match"),
                "", kFetchAgain);
  }
  return data;
}

Bytes TensorBundleReader::assembled(const BundleEntry& variable) {
  const size_t element_size = size_of(*variable.dtype());
  const std::vector<SliceBox> boxes = slice_boxes(variable);
  std::vector<Bytes> slices;
  for (size_t i = 0; i < boxes.size(); ++i) {
    const BundleEntry& slice = index_.slice(variable, i);
    if (slice.type != variable.type || slice.shape != boxes[i].length) {
      throw Error(Code::kCorrupt, cat("slice ", i, " has another type or shape than its place"));
    }
    slices.push_back(verified(slice));  // so its bytes exist before memory for the whole is taken
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
