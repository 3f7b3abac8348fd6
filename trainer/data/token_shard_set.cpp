#include "trainer/data/token_shard_set.h"

#include <algorithm>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "trainer/data/example_table.h"

namespace berth {
namespace {

constexpr const char* kNameAll =
    "name all shards of one preparation, such as 'folder/train-*.tokens'";

[[noreturn]] void refuse(const std::string& name, const std::string& what,
                         const std::string& hint = kNameAll) {
  throw Error(Code::kBadData, what, name, hint);
}

}  // namespace

void ShardSetCheck::add(const std::string& name, const TokenShard& shard) {
  const TokenShardInfo& info = shard.info();
  if (shards_ == 0) {
    first_ = info;
    first_name_ = name;
  }
  TokenShardInfo expected = first_;
  expected.index = info.index;
  if (info != expected) refuse(name, "belongs to another preparation than " + first_name_);
  if (info.index != shards_) {
    refuse(name, cat("is shard ", info.index + 1, " of ", info.count, ", where shard ", shards_ + 1,
                     " is expected"));
  }
  last_name_ = name;
  ++shards_;
  sequences_ += shard.sequences();
}

void ShardSetCheck::finish(std::optional<uint32_t> tokenizer_checksum) const {
  if (shards_ < first_.count) {
    refuse(last_name_, cat("is shard ", shards_, " of ", first_.count, ", and shard ", shards_ + 1,
                           " is missing"));
  }
  if (sequences_ != first_.total_sequences) {
    refuse(last_name_, cat("ends a set of ", sequences_, " sequences, but there should be ",
                           first_.total_sequences));
  }
  if (sequences_ > ExampleTable::kMostRows) {
    refuse(last_name_, cat("ends a set of more than ", ExampleTable::kMostRows, " sequences"),
           "prepare the corpus in parts");
  }
  if (!tokenizer_checksum || *tokenizer_checksum == first_.tokenizer_checksum) return;
  refuse(first_name_, "was made with another tokenizer than the model has",
         "prepare the corpus again with --model or --vocab-file of this model");
}

TokenShardSet::TokenShardSet(std::vector<TokenShardFile> files,
                             std::optional<uint32_t> tokenizer_checksum)
    : files_(std::move(files)) {
  ShardSetCheck check;
  for (const TokenShardFile& file : files_) {
    try {
      shards_.emplace_back(file.bytes());
    } catch (const Error& error) {
      throw error.at(file.name);
    }
    check.add(file.name, shards_.back());
    firsts_.push_back(firsts_.back() + shards_.back().sequences());
    size_bytes_ += file.bytes().size();
  }
  check.finish(tokenizer_checksum);
}

TokenShardSet::Place TokenShardSet::place_of(uint32_t row) const {
  const auto after = std::upper_bound(firsts_.begin(), firsts_.end(), size_t{row});
  const auto shard = static_cast<size_t>(after - firsts_.begin()) - 1;
  return {shards_[shard], static_cast<uint32_t>(row - firsts_[shard])};
}

Example TokenShardSet::read(uint32_t row) const {
  const Place place = place_of(row);
  Example example;
  place.shard.read(place.sequence, example.token_ids);
  example.token_types.resize(example.token_ids.size());
  return example;
}

Bytes TokenShardSet::bytes(uint32_t row) const {
  const Place place = place_of(row);
  return place.shard.bytes(place.sequence);
}

}  // namespace berth
