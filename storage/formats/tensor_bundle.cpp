#include "storage/formats/tensor_bundle.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "storage/base/checksum.h"
#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/formats/damage.h"
#include "storage/formats/tensor_bundle/bundle_entry.h"
#include "storage/formats/tensor_bundle/table.h"

namespace berth {
namespace {

// A slice with an explicit start and length for every dimension.
struct SliceBox {
  std::vector<int64_t> start, length;

  int64_t elements() const {
    int64_t count = 1;
    for (const int64_t size : length) count *= size;
    return count;
  }
};

SliceBox box_of(const TensorSlice& slice, const std::vector<int64_t>& shape) {
  if (slice.size() != shape.size()) {
    throw Error(Code::kCorrupt,
                cat("has ", slice.size(), " dimensions, but its variable has ", shape.size()));
  }
  SliceBox box;
  for (size_t i = 0; i < shape.size(); ++i) {
    const int64_t start = slice[i].start, length = slice[i].length.value_or(shape[i]);
    if (start < 0 || length < 0 || start > shape[i] || length > shape[i] - start) {
      throw Error(Code::kCorrupt, cat("takes ", length, " elements from index ", start,
                                      " on in dimension ", i, ", which has ", shape[i]));
    }
    box.start.push_back(start);
    box.length.push_back(length);
  }
  return box;
}

bool overlap(const SliceBox& a, const SliceBox& b) {
  if (a.elements() == 0 || b.elements() == 0) return false;
  for (size_t i = 0; i < a.start.size(); ++i) {
    if (a.start[i] >= b.start[i] + b.length[i] || b.start[i] >= a.start[i] + a.length[i]) {
      return false;
    }
  }
  return true;
}

// Throws kCorrupt unless the variable's slices lie within its shape and cover it without holes or
// overlaps.
std::vector<SliceBox> slice_boxes(const BundleEntry& variable) {
  std::vector<SliceBox> boxes;
  int64_t covered = 0;
  for (size_t i = 0; i < variable.slices.size(); ++i) {
    try {
      boxes.push_back(box_of(variable.slices[i], variable.shape));
    } catch (const Error& error) {
      throw error.at(cat("slice ", i));
    }
    for (size_t j = 0; j < i; ++j) {
      if (overlap(boxes[i], boxes[j])) {
        throw Error(Code::kCorrupt, cat("slices ", j, " and ", i, " overlap"));
      }
    }
    // The boxes are disjoint, so the sum never exceeds the size of the variable.
    covered += boxes[i].elements();
  }
  if (covered != variable.elements()) {
    throw Error(Code::kCorrupt,
                cat("the slices have ", covered, " of ", variable.elements(), " elements"));
  }
  return boxes;
}

// Copies a row-major slice to its place in a row-major tensor of `shape`.
void copy_slice(Bytes slice, const SliceBox& box, const std::vector<int64_t>& shape,
                size_t element_size, std::span<std::byte> tensor) {
  if (slice.empty()) return;
  // The last dimensions that the slice covers completely, and the one before them, are contiguous
  // in both the slice and the tensor.
  size_t outer = shape.size();
  size_t run = element_size;  // contiguous bytes
  while (outer > 0) {
    --outer;
    run *= static_cast<size_t>(box.length[outer]);
    if (box.length[outer] != shape[outer]) break;
  }
  std::vector<int64_t> position(outer);  // index within the slice
  for (size_t done = 0; done < slice.size(); done += run) {
    size_t target = 0;  // element index in the tensor
    for (size_t i = 0; i < shape.size(); ++i) {
      const int64_t index = box.start[i] + (i < outer ? position[i] : 0);
      target = target * static_cast<size_t>(shape[i]) + static_cast<size_t>(index);
    }
    const Bytes row = slice.subspan(done, run);
    std::copy(row.begin(), row.end(), tensor.subspan(target * element_size, run).begin());
    for (size_t i = outer; i-- > 0 && ++position[i] == box.length[i];) position[i] = 0;
  }
}

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

namespace {

constexpr int32_t kMostShards = 100'000;  // file names have five digits for it

void require_shard(const BundleEntry& entry, int32_t num_shards) {
  if (entry.shard >= num_shards) {
    throw Error(Code::kCorrupt, cat("lies in shard ", entry.shard, " of ", num_shards),
                "tensor " + quoted(entry.name));
  }
}

}  // namespace

std::string shard_name(std::string_view prefix, int32_t shard, int32_t num_shards) {
  return cat(prefix, ".data-", formatted("%05d-of-%05d", shard, num_shards));
}

std::string_view bundle_prefix(std::string_view name) {
  for (const std::string_view suffix : {".index", ".meta"}) {
    if (name.ends_with(suffix)) return name.substr(0, name.size() - suffix.size());
  }
  constexpr std::string_view kData = ".data-", kOf = "-of-";
  const size_t data = name.rfind(kData), of = name.rfind(kOf);
  if (data == std::string_view::npos || of == std::string_view::npos || of < data + kData.size()) {
    return name;
  }
  const bool is_shard = is_digits(name.substr(data + kData.size(), of - data - kData.size())) &&
                        is_digits(name.substr(of + kOf.size()));
  return is_shard ? name.substr(0, data) : name;
}

TensorBundleIndex::TensorBundleIndex(Bytes index_file) {
  bool has_header = false;
  read_table(index_file, [&](std::string_view key, Bytes value) {
    if (!has_header) {
      if (!key.empty()) {
        throw Error(Code::kBadData, "a table, but not of a checkpoint: its first key is not empty");
      }
      num_shards_ = parse_bundle_header(value).num_shards;
      has_header = true;
    } else if (is_slice_key(key)) {
      slices_.emplace(key, parse_bundle_entry(key, value));
    } else {
      tensors_.push_back(parse_bundle_entry(key, value));
    }
  });
  if (!has_header) throw Error(Code::kCorrupt, "an empty table, without a checkpoint's header");
  if (num_shards_ > kMostShards) throw Error(Code::kCorrupt, cat(num_shards_, " shards"));
  for (const BundleEntry& entry : tensors_) require_shard(entry, num_shards_);
  for (const auto& [key, entry] : slices_) require_shard(entry, num_shards_);
}

const BundleEntry* TensorBundleIndex::find(std::string_view name) const {
  const auto found =
      std::lower_bound(tensors_.begin(), tensors_.end(), name,
                       [](const BundleEntry& entry, auto wanted) { return entry.name < wanted; });
  return found != tensors_.end() && found->name == name ? &*found : nullptr;
}

const BundleEntry& TensorBundleIndex::slice(const BundleEntry& variable, size_t slice_index) const {
  const auto found = slices_.find(slice_key(variable.name, variable.slices[slice_index]));
  if (found == slices_.end()) {
    throw Error(Code::kCorrupt,
                cat("slice ", slice_index, " of ", variable.slices.size(), " is missing"),
                "tensor " + quoted(variable.name), "fetch the file again");
  }
  return found->second;
}

void write_tensor_bundle(std::span<const NamedTensor> tensors, ByteSink& index, ByteSink& data) {
  std::vector<const NamedTensor*> sorted;
  for (const NamedTensor& tensor : tensors) sorted.push_back(&tensor);
  std::sort(sorted.begin(), sorted.end(),
            [](const NamedTensor* a, const NamedTensor* b) { return a->name < b->name; });
  std::string_view last;
  for (const NamedTensor* tensor : sorted) {
    const auto elements = static_cast<uint64_t>(tensor->elements());
    if (tensor->name == last || tensor->name.front() == '\0' ||
        tensor->data.size() != elements * size_of(tensor->dtype)) {
      throw Error(Code::kInternal,
                  cat("a tensor of ", tensor->data.size(), " bytes that no checkpoint can hold"),
                  quoted(tensor->name));
    }
    last = tensor->name;
  }

  TableWriter table(index);
  table.add("", bundle_header_bytes());
  uint64_t offset = 0;
  for (const NamedTensor* tensor : sorted) {
    const BundleEntry entry{.name = tensor->name,
                            .type = tensorflow_type(tensor->dtype),
                            .shape = tensor->shape,
                            .offset = offset,
                            .size_bytes = tensor->data.size(),
                            .crc32c = crc32c(tensor->data)};
    table.add(tensor->name, bundle_entry_bytes(entry));
    data.write(tensor->data);
    offset += tensor->data.size();
  }
  table.finish();
}

}  // namespace berth
