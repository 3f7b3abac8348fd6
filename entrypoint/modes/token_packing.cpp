#include "entrypoint/modes/token_packing.h"

#include <algorithm>

#include "entrypoint/modes/prepared_files.h"
#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/formats/token_shard.h"
#include "storage/store_object.h"
#include "trainer/corpus/text_hash.h"
#include "trainer/text/tokenizer_checksum.h"

namespace berth {
namespace {

constexpr size_t kPendingBytes = size_t{1} << 20;

std::unique_ptr<FeatureMaker> document_maker(const Tokenizer& tokenizer, int32_t max_seq_length) {
  FeatureOptions options{.task = Task::kMaskedLm, .max_seq_length = max_seq_length};
  options.labelled = false;
  return make_document_features(std::move(options), tokenizer);
}

}  // namespace

std::vector<std::string> token_shard_names(size_t shards) {
  std::vector<std::string> names;
  for (size_t shard = 0; shard < shards; ++shard) {
    names.push_back("train" +
                    shard_suffix(static_cast<int64_t>(shard), static_cast<int64_t>(shards)) +
                    ".tokens");
  }
  return names;
}

void refuse_other_shards(Storage& storage, const Uri& directory,
                         const std::vector<std::string>& names) {
  for (const Stat& file : storage.list(directory)) {
    const std::string name = Uri::parse(file.name).file_name();
    if (file.name != (directory / name).to_string()) continue;  // the file lies in a folder below
    if (!names_token_shard(name) || std::find(names.begin(), names.end(), name) != names.end()) {
      continue;
    }
    throw Error(Code::kIncompatible,
                cat("the directory holds ", name,
                    " of another preparation, which would stay beside ", names.front()),
                directory.to_string(),
                "give a new --export-dir, or remove the files of the other preparation");
  }
}

TokenPacker::TokenPacker(const Tokenizer& tokenizer, int32_t max_seq_length, ThreadPool& threads)
    : vocab_size_(static_cast<uint32_t>(tokenizer.vocab_size())),
      max_seq_length_(static_cast<uint32_t>(max_seq_length)),
      tokenizer_checksum_(tokenizer_checksum(tokenizer)),
      maker_(document_maker(tokenizer, max_seq_length)),
      threads_(threads) {}

void TokenPacker::tokenize(const std::string& text, Tokenized& tokenized) const {
  tokenized.ids.clear();
  tokenized.lengths.clear();
  for (const Features& features : maker_->make({.texts = {text}})) {
    for (const int32_t id : features.input_ids) append_token_id(id, vocab_size_, tokenized.ids);
    tokenized.lengths.push_back(static_cast<uint32_t>(features.input_ids.size()));
  }
}

void TokenPacker::add(std::span<const std::string> texts) {
  if (tokenized_.size() < texts.size()) tokenized_.resize(texts.size());
  const auto count = static_cast<int64_t>(texts.size());
  threads_.parallel_for(count, 16, [&](int64_t begin, int64_t end, int) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      tokenize(texts[i], tokenized_[i]);
    }
  });
  for (const Tokenized& document : std::span(tokenized_).first(texts.size())) {
    pending_.insert(pending_.end(), document.ids.begin(), document.ids.end());
    lengths_.insert(lengths_.end(), document.lengths.begin(), document.lengths.end());
    for (const uint32_t length : document.lengths) tokens_ += length;
    mark_ = mixed(mark_ ^ hash_text(as_text(document.ids)).low);
    if (pending_.size() >= kPendingBytes) flush();
  }
}

void TokenPacker::flush() {
  if (!pending_.empty()) file_.append(pending_);
  pending_.clear();
}

std::vector<size_t> TokenPacker::plan(uint64_t shard_bytes) {
  const size_t id_bytes = token_id_bytes(vocab_size_);
  std::vector<size_t> firsts;
  uint64_t bytes = shard_bytes;
  for (size_t i = 0; i < lengths_.size(); ++i) {
    const uint64_t more = sizeof(uint32_t) + lengths_[i] * id_bytes;
    if (bytes + more > shard_bytes) {
      firsts.push_back(i);
      bytes = 0;
    }
    bytes += more;
  }
  return firsts;
}

void TokenPacker::write(Storage& storage, const Uri& directory, const std::vector<size_t>& plan,
                        const std::function<void()>& before_each) {
  flush();
  TokenShardInfo info{.tokenizer_checksum = tokenizer_checksum_,
                      .vocab_size = vocab_size_,
                      .max_seq_length = max_seq_length_,
                      .count = static_cast<uint32_t>(plan.size()),
                      .total_sequences = lengths_.size(),
                      .preparation = mark_};
  const std::vector<std::string> names = token_shard_names(plan.size());
  std::vector<std::byte> ids;
  uint64_t offset = 0;
  for (size_t shard = 0; shard < plan.size(); ++shard) {
    before_each();
    const size_t end = shard + 1 < plan.size() ? plan[shard + 1] : lengths_.size();
    const auto lengths = std::span(lengths_).subspan(plan[shard], end - plan[shard]);
    uint64_t count = 0;
    for (const uint32_t length : lengths) count += length;
    ids.resize(count * token_id_bytes(vocab_size_));
    file_.read_at(offset, ids);
    offset += ids.size();
    info.index = static_cast<uint32_t>(shard);
    store_object(storage, directory / names[shard],
                 [&](ByteSink& sink) { write_token_shard(sink, info, lengths, ids); });
  }
}

}  // namespace berth
