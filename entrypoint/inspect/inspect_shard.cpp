#include <nlohmann/json.hpp>
#include <optional>

#include "entrypoint/inspect/column_summary.h"
#include "entrypoint/inspect/inspect.h"
#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "storage/formats/token_shard.h"
#include "trainer/loop/load_token_shards.h"

namespace berth {
namespace {

// One decimal, for people.
std::string mean_length(const TokenShard& shard) {
  if (shard.sequences() == 0) return "0";
  const uint64_t tenths = (shard.ids() * 10 + shard.sequences() / 2) / shard.sequences();
  return cat(tenths / 10, ".", tenths % 10);
}

}  // namespace

Inspection inspect_shard(Storage& storage, const Uri& uri) {
  const TokenShardFile file = read_token_shard_file(storage, uri);
  std::optional<TokenShard> shard;
  try {
    shard.emplace(file.bytes());
  } catch (const Error& error) {
    throw error.at(file.name);
  }
  const TokenShardInfo& info = shard->info();
  OrderedJson json = {{"format", "tokens"},
                      {"rows", shard->sequences()},
                      {"ids", shard->ids()},
                      {"max_seq_length", info.max_seq_length},
                      {"vocab_size", info.vocab_size},
                      {"tokenizer_checksum", info.tokenizer_checksum},
                      {"shard", info.index + 1},
                      {"shards", info.count},
                      {"rows_of_all_shards", info.total_sequences},
                      {"preparation", info.preparation}};
  return {.text = cat(file.name, ": shard ", info.index + 1, " of ", info.count,
                      " of tokens to pre-train on, with right checksums\n", "  ",
                      grouped(shard->sequences()), " sequences of at most ", info.max_seq_length,
                      " ids, ", mean_length(*shard), " on average; ", grouped(info.total_sequences),
                      " in all shards\n", "  ", grouped(shard->ids()), " ids of a vocabulary of ",
                      grouped(info.vocab_size), "; the tokenizer's checksum is ",
                      info.tokenizer_checksum, "\n"),
          .json = to_text(json)};
}

}  // namespace berth
