#include <algorithm>
#include <cstdio>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/formats/tensor_bundle.h"
#include "storage/formats/tensor_bundle/ordered_code.h"
#include "storage/formats/tensor_bundle/table_reader.h"

namespace berth {
namespace {

constexpr int32_t kMostShards = 100'000;  // file names have five digits for it

void require_shard(const BundleEntry& entry, int32_t num_shards) {
  if (entry.shard >= num_shards) {
    throw Error(Code::kCorrupt, cat("lies in shard ", entry.shard, " of ", num_shards),
                "tensor " + quoted(entry.name));
  }
}

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

std::string shard_name(std::string_view prefix, int32_t shard, int32_t num_shards) {
  char numbers[32];
  std::snprintf(numbers, sizeof numbers, "%05d-of-%05d", shard, num_shards);
  return cat(prefix, ".data-", numbers);
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

}  // namespace berth
