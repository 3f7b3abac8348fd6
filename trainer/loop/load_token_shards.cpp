#include "trainer/loop/load_token_shards.h"

#include "storage/archive.h"
#include "storage/base/counted.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr uint64_t kShardLimitBytes = uint64_t{16} << 30;

// Shards that cannot be mapped. Their rows are copied into the table.
class CopiedShards {
 public:
  CopiedShards(ExampleTable& table, bool keeps_keys) : table_(table), keeps_keys_(keeps_keys) {}

  void append(const TokenShardFile& file) {
    std::optional<TokenShard> shard;
    try {
      shard.emplace(file.bytes());
    } catch (const Error& error) {
      throw error.at(file.name);
    }
    check_.add(file.name, *shard);
    Example example;
    for (uint32_t i = 0; i < shard->sequences(); ++i) {
      shard->read(i, example.token_ids);
      example.token_types.assign(example.token_ids.size(), 0);
      table_.append(example);
      if (keeps_keys_) table_.add_key(example, as_text(shard->bytes(i)), Task::kMaskedLm);
    }
  }
  void finish(std::optional<uint32_t> tokenizer_checksum) { check_.finish(tokenizer_checksum); }

 private:
  ExampleTable& table_;
  const bool keeps_keys_;
  ShardSetCheck check_;
};

Task task_of(const DataRequest& request) { return request.rules.task.value_or(Task::kMaskedLm); }

void require_pre_training(const DataRequest& request) {
  if (traits(task_of(request)).inputs == InputKind::kDocument) return;
  throw Error(Code::kBadData,
              cat("holds tokens to pre-train on, which have no labels and no texts for ",
                  task_name(*request.rules.task)),
              request.path,
              "give --task mlm, with a teacher --distillation-target hidden_states, or --task "
              "electra, or name files of texts");
}

}  // namespace

TokenShardFile read_token_shard_file(Storage& storage, const Uri& file) {
  TokenShardFile shard{.name = file.to_string()};
  const Compression compression = compression_of(file.file_name());
  std::unique_ptr<ByteSource> source = storage.open(file);
  if (compression == Compression::kNone) shard.mapped = source->map();
  if (shard.mapped && !shard.mapped->view()) shard.mapped.reset();
  if (!shard.mapped) {
    source = decompress(std::move(source), compression);
    shard.read = read_all(*source, kShardLimitBytes, shard.name);
  }
  return shard;
}

LoadedTable load_token_shards(Storage& storage, const DataRequest& request,
                              const std::vector<Uri>& files) {
  require_pre_training(request);
  const LoadRules& rules = request.rules;
  const auto expected =
      rules.tokenizer_checksum ? std::optional(rules.tokenizer_checksum()) : std::nullopt;
  LoadedTable loaded{.table = std::make_unique<ExampleTable>(),
                     .task = task_of(request),
                     .columns = {},
                     .name = Uri::parse(request.path).to_string(),
                     .sources = {}};
  std::vector<TokenShardFile> mapped;
  CopiedShards copied(*loaded.table, rules.keeps_keys);
  for (const Uri& file : files) {
    TokenShardFile shard = read_token_shard_file(storage, file);
    Source source{.role = request.role, .uri = file.to_string(), .checksum = {}};
    source.checksum.add(shard.bytes());
    loaded.sources.push_back(std::move(source));
    // Rows are not copied if all shards can be mapped.
    const bool stays = shard.mapped != nullptr && mapped.size() + 1 == loaded.sources.size();
    if (stays) {
      mapped.push_back(std::move(shard));
      continue;
    }
    for (const TokenShardFile& each : mapped) copied.append(each);
    mapped.clear();
    copied.append(shard);
  }
  if (mapped.empty()) {
    copied.finish(expected);
  } else {
    auto shards = std::make_unique<TokenShardSet>(std::move(mapped), expected);
    for (uint32_t row = 0; rules.keeps_keys && row < shards->rows(); ++row) {
      loaded.table->add_key({}, as_text(shards->bytes(row)), Task::kMaskedLm);
    }
    loaded.table->adopt(std::move(shards));
  }
  try {
    loaded.table->finish();
  } catch (const Error& error) {
    throw error.at(request.path);
  }
  loaded.table->name = loaded.name;
  log_info(cat("read ", counted(loaded.table->rows(), "sequence"), " of tokens of ",
               counted(files.size(), "shard"), ": ", loaded.name));
  return loaded;
}

}  // namespace berth
