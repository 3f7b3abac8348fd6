#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "storage/base/spill_file.h"
#include "storage/base/thread_pool.h"
#include "storage/storage.h"
#include "trainer/data/features.h"
#include "trainer/text/tokenizer.h"

namespace berth {

// Tokenizes documents as --task mlm does (make_document_features()) and writes the sequences as
// shards (storage/formats/token_shard.h). The sequences wait in an unnamed file on the local disk
// until the number of shards is known; 4 bytes for each stay in memory. The bytes of the shards
// depend on the documents, the tokenizer and the lengths, not on the number of threads. Not
// thread-safe; uses all threads of the pool. Borrows the tokenizer and the pool.
class TokenPacker {
 public:
  // `max_seq_length`: the most tokens in a sequence, special tokens included.
  TokenPacker(const Tokenizer& tokenizer, int32_t max_seq_length, ThreadPool& threads);

  // Tokenizes the next documents, in their order.
  void add(std::span<const std::string> texts);

  uint64_t sequences() const { return lengths_.size(); }
  uint64_t tokens() const { return tokens_; }

  // The shards of about `shard_bytes`, which is enough for one sequence: the number of the first
  // sequence of each. Called after all documents were added.
  std::vector<size_t> plan(uint64_t shard_bytes);
  // Writes them as train-00000-of-00012.tokens, ... `before_each` is called before each shard.
  // Holds one shard in memory.
  void write(Storage& storage, const Uri& directory, const std::vector<size_t>& plan,
             const std::function<void()>& before_each);

 private:
  struct Tokenized {
    std::vector<std::byte> ids;
    std::vector<uint32_t> lengths;
  };

  void tokenize(const std::string& text, Tokenized& tokenized) const;
  void flush();

  const uint32_t vocab_size_, max_seq_length_, tokenizer_checksum_;
  const std::unique_ptr<FeatureMaker> maker_;
  ThreadPool& threads_;
  std::vector<Tokenized> tokenized_;  // of the documents that are added
  SpillFile file_;                    // the ids of all sequences
  std::vector<std::byte> pending_;    // their end, not in the file yet
  std::vector<uint32_t> lengths_;     // of all sequences
  uint64_t tokens_ = 0;
  uint64_t mark_ = 0;  // a hash of all sequences
};

// The names of the shards, in order.
std::vector<std::string> token_shard_names(size_t shards);

// Throws kIncompatible where `directory` holds shards that are not among `names`, because a pattern
// such as *.tokens would match old and new files.
void refuse_other_shards(Storage& storage, const Uri& directory,
                         const std::vector<std::string>& names);

}  // namespace berth
