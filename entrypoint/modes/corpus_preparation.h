#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "entrypoint/job/job.h"
#include "storage/base/bytes.h"
#include "storage/base/spill_file.h"
#include "storage/base/thread_pool.h"
#include "storage/storage.h"
#include "trainer/data/features.h"
#include "trainer/inputs/data_source.h"
#include "trainer/inputs/options.h"
#include "trainer/text/tokenizer.h"

namespace berth {

// Documents of a corpus that follow each other. The vectors may be longer than `size`, so that
// their strings can be used again.
struct DocumentBatch {
  struct Place {
    size_t file;   // index into CorpusTexts::files()
    uint64_t row;  // of that file, counted from 1
  };
  std::vector<std::string> texts{};
  std::vector<Place> places{};
  size_t size = 0;
  size_t bytes = 0;
};

// Reads the documents of a corpus, file by file in the order of the names. A file may be compressed
// (storage/archive.h). In a table (open_rows()) a row is a document. Its text is the text column.
// If there is a second text, a line feed and that text follow. In any other file a line is a
// document; see LinesReader. Missing texts and blank lines are no documents. Not thread-safe.
class CorpusTexts {
 public:
  static constexpr size_t kBatchBytes = size_t{8} << 20, kBatchDocuments = 16'384;

  // Finds the files of --train-data-file. Throws what expand() throws, and kBadData where one holds
  // token ids in place of texts.
  CorpusTexts(Storage& storage, const DataOptions& data);

  // Reads documents until the batch holds kBatchBytes of text or kBatchDocuments. Returns false if
  // there was none left. Throws kBadData where a table has no column of texts, and for malformed
  // rows after --skip-bad-rows of them were left out. Errors name the file.
  bool read(DocumentBatch& batch);

  const std::vector<Uri>& files() const { return rows_.files(); }
  int64_t skipped_rows() const { return rows_.skipped(); }
  // "texts.jsonl, row 7", for people.
  std::string where(const DocumentBatch::Place& place) const;

 private:
  bool next_text(std::string& text);

  const DataSource source_;
  TextRows rows_;
};

// Lines that wait in an unnamed file on the local disk (SpillFile) until their number is known and
// they can be written to shards. Memory grows by only 8 bytes for 1,024 lines. Not thread-safe.
class SpilledLines {
 public:
  // `line` has no line feed. Throws what SpillFile throws.
  void append(std::string_view line);
  int64_t size() const { return size_; }

  // Appends line `number`, counted from 0, and a line feed to `bytes`. Reading the lines in their
  // order is quick. Nothing may be appended afterwards.
  void read(int64_t number, std::vector<std::byte>& bytes);

 private:
  static constexpr int64_t kLinesPerOffset = 1024;
  static constexpr size_t kWriteBytes = size_t{1} << 20;

  void flush();
  void seek(int64_t number);
  std::string_view next();

  SpillFile file_;
  int64_t size_ = 0;
  std::string pending_;            // the end of the lines, not in the file yet
  std::vector<uint64_t> offsets_;  // of every kLinesPerOffset-th line

  int64_t next_ = 0;    // the line at window_[at_]
  std::string window_;  // a part of the file
  size_t at_ = 0;
  uint64_t window_end_ = 0;  // where the window ends in the file
};

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

// --mode prepare --task mlm: cleans a corpus and writes the remaining documents, with the report
// cleaning_report.json. With a tokenizer it writes shards of tokens, unless --record-format jsonl
// is given; otherwise it writes texts, one {"text": ...} a line. The report is written last. The
// remaining documents wait on the local disk until all are cleaned. Throws kBadData if no document
// is left, and what run() promises.
void run_corpus_preparation(Job& job);

}  // namespace berth
