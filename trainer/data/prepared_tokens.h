#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/formats/tf_example.h"
#include "storage/formats/token_shard.h"
#include "trainer/data/example.h"
#include "trainer/data/features.h"
#include "trainer/model/task.h"
#include "trainer/text/tokenizer.h"

namespace berth {

struct TokenRecordOptions {
  Task task = kDefaultTask;
  int32_t max_seq_length = 128;  // tokens that each record is padded to
  int32_t num_labels = 0;
  bool with_weight = false;
  int32_t most_masked = 0;  // the masked tokens that each record of a pair is padded to
};

// The features of a tf.Example as google-research/bert's run_classifier.py and the Model Garden's
// create_finetuning_data.py write it, sorted by name. make_record_examples() reads them.
//   input_ids, input_mask, segment_ids  padded with 0
//   label_ids        one integer for a class, one float for a number, an integer for each token for
//                    tags (-1: none), a 0 or 1 for each class of a set
//   is_real_example  1
//   weight           where the options say so
// Readers of such files require labels, so an unlabelled row has the label that these programs give
// it: 0, or -1 for each token. Not for questions.
std::vector<TfFeature> token_record(const Features& features, const TokenRecordOptions& options);

// The same as a line of JSON for people to read: tokens (where `tokenizer` is not null), input_ids
// and segment_ids, without padding, and label, which an unlabelled row lacks. The label is a name,
// a number, a list of names, or a list of tags with null for tokens that have none. `labels` are
// the names of the classes.
std::string token_line(const Features& features, const TokenRecordOptions& options,
                       const std::vector<std::string>& labels, const Tokenizer* tokenizer);

// The features of a pair whose tokens are masked, as google-research/bert's
// create_pretraining_data.py writes them, sorted by name. make_record_examples() reads them.
//   input_ids, input_mask, segment_ids  padded with 0
//   masked_lm_ids, masked_lm_positions  padded with 0
//   masked_lm_weights                   1 for each masked token, and 0 for the padding
//   next_sentence_labels                0 if the second text follows the first one, else 1
std::vector<TfFeature> pair_record(const Features& features, const TokenRecordOptions& options);

// The same as a line of JSON for people to read: tokens, input_ids, segment_ids,
// masked_lm_positions, masked_lm_ids and next_sentence_label, without padding.
std::string pair_line(const Features& features, const Tokenizer& tokenizer);

// The file of a shard, which is mapped into memory or was read into it.
struct TokenShardFile {
  std::string name;                              // for errors
  std::unique_ptr<RandomAccessSource> mapped{};  // or else:
  std::vector<std::byte> read{};

  Bytes bytes() const { return mapped ? *mapped->view() : Bytes(read); }
};

// Checks that shards are all shards of one preparation, in order.
class ShardSetCheck {
 public:
  // Called for each shard. Throws kBadData, naming the file, where the shard is out of order or
  // belongs to another preparation than those before it.
  void add(const std::string& name, const TokenShard& shard);
  // Called after the last one; there is at least one. `tokenizer_checksum` is the checksum of the
  // model's tokenizer; empty: any tokenizer is accepted. Throws kBadData where shards are missing,
  // or where another tokenizer made them.
  void finish(std::optional<uint32_t> tokenizer_checksum) const;

 private:
  TokenShardInfo first_{};
  std::string first_name_, last_name_;
  uint64_t shards_ = 0, sequences_ = 0;
};

// The sequences of all shards of one preparation as examples, which have token_ids and nothing
// else. Immutable and thread-safe.
class TokenShardSet final : public StoredExamples {
 public:
  // `files` are all shards, in order. Reads all of them once. Throws kCorrupt where a file is
  // damaged, and what ShardSetCheck throws. Errors name the file.
  TokenShardSet(std::vector<TokenShardFile> files, std::optional<uint32_t> tokenizer_checksum);

  size_t rows() const override { return firsts_.back(); }
  Example read(uint32_t row) const override;
  size_t size_bytes() const override { return size_bytes_; }

  // The bytes of a row's ids, by which equal rows are recognized.
  Bytes bytes(uint32_t row) const;

 private:
  struct Place {
    const TokenShard& shard;
    uint32_t sequence;
  };
  Place place_of(uint32_t row) const;

  std::vector<TokenShardFile> files_;
  std::vector<TokenShard> shards_;
  std::vector<size_t> firsts_{0};  // the first row of each shard, and the number of rows
  size_t size_bytes_ = 0;
};

}  // namespace berth
