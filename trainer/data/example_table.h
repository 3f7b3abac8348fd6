#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/spill_file.h"
#include "trainer/data/example.h"
#include "trainer/data/label_dictionary.h"
#include "trainer/model/task.h"

namespace berth {

// How a table keeps its examples, one after another:
//
//   varint size | id | texts | token ids | token types | labels | score | answers | weight |
//   scores of texts | masked tokens, if there are any
//
// `size` counts the bytes behind it. Lists and texts begin with their length as a varint; numbers
// are varints, except score and weight, which are fp32 in the machine's byte order. The length of
// one of the texts is doubled, and 1 stands for the text at the same place in the example before:
// many questions have one context. Only bytes that this process wrote are parsed, so the parser
// checks nothing.

// Where the texts of an example lie in the bytes.
struct TextPlace {
  size_t offset = 0, size = 0;
};
using TextPlaces = std::vector<TextPlace>;

// Whether `example` has a text of 256 bytes or more that lies in `bytes` at the same one of the
// places `before`.
bool repeats_text(std::string_view bytes, const Example& example, const TextPlaces& before);

// `before` has the places of the example before, and then the places of this example. It is empty
// for an example that must be readable without the ones before it.
void append_example(std::string& bytes, const Example& example, TextPlaces& before);

// Both read the example that begins at `at`, and set `at` to its end.
Example parse_example(std::string_view bytes, size_t& at, TextPlaces& before);
void skip_example(std::string_view bytes, size_t& at, TextPlaces& before);

// What a split needs to know of each row.
struct RowKeys {
  std::deque<uint32_t> hashes;  // of the row's text; equal texts have equal hashes
  // The row's class, as the first entry of the LabelDictionary with its name. 0 for all rows where
  // the task does not give each row one class.
  std::deque<int32_t> strata;
  std::vector<uint32_t> blank{};  // the rows whose text has only blanks, or nothing; ascending
};

// The rule in job.json of a job of documents whose rows are pairs. Earlier versions read the first
// texts alone.
inline constexpr const char* kPairRule = "pairs of texts are documents";

// How a job divides rows with empty texts. Jobs of earlier versions, which held them out before all
// others and learned masked tokens of them, do not have the rule.
inline constexpr const char* kBlankRule = "rows without a text are divided like others";
// The keys of the rows as these versions made them.
RowKeys as_before_blank_rule(RowKeys keys);

// The rows of a data set, in the order of their files, and the labels that occur in them. The rows
// are kept in memory up to `memory_bytes`. All rows of a larger table are moved to an unnamed file
// on the local disk (SpillFile), and a few bytes for each stay in memory. Rows that can be read
// where they lie are adopted instead. After finish(), reading is thread-safe.
class ExampleTable {
 public:
  static constexpr size_t kMemoryBytes = size_t{64} << 20;
  static constexpr size_t kMostRows = UINT32_MAX;
  // The number of rows, one behind the other, that may share one copy of an equal text.
  static constexpr size_t kRowsOfBlock = 32;

  explicit ExampleTable(size_t memory_bytes = kMemoryBytes) : memory_bytes_(memory_bytes) {}

  // Throws kBadData for more than kMostRows rows, and what SpillFile throws.
  void append(const Example& example);
  // Adds the keys of the row last appended. Called for each row of a table that will be split.
  // `split_key` is the text that is hashed.
  void add_key(const Example& example, std::string_view split_key, Task task);
  // Takes the rows from `stored` in place of append(), which must not be called. Adds no keys.
  void adopt(std::unique_ptr<StoredExamples> stored);
  // The row last appended has this number in its source. Called for all rows of a table or for
  // none.
  void set_source_row(uint64_t row) { source_rows_.push_back(row); }
  // The row last appended is of the same row in its source as the one before.
  void repeat_source_row() { repeated_.push_back(static_cast<uint32_t>(rows_) - 1); }
  // Counts the next row of the source as left out.
  void leave_out() { left_out_.push_back(static_cast<uint32_t>(rows_)); }
  // Called after the last row. Makes the labels final. Throws kBadData where there is no row.
  void finish();

  size_t rows() const { return rows_; }
  // A checksum of what was appended, and of the labels' names, which does not depend on how rows
  // are stored. Only after finish(); 0 for adopted rows.
  uint32_t digest() const { return digest_; }
  size_t memory_bytes() const;  // held in memory, without the labels
  Example read(uint32_t row) const;
  // The number of a row in its source, which counts rows that were left out.
  uint64_t source_row(uint32_t row) const;
  // Whether rows lie on disk, where reading them in nearly their order is much faster.
  bool spilled() const {
    return file_ != nullptr || (stored_ != nullptr && stored_->size_bytes() > memory_bytes_);
  }

  // The keys of all rows, which are moved to the caller. Called at most once.
  RowKeys take_keys() { return std::move(keys_); }

  std::string name;  // for errors
  LabelDictionary labels;
  bool labelled = false;    // rows have labels, numbers or answers
  bool has_ids = false;     // some rows have ids of their own
  size_t unanswerable = 0;  // labelled questions that have no answer

 private:
  // Rows that lie behind one another and are read from the file together.
  struct Block {
    uint32_t first_row;
    uint64_t offset;
  };
  static constexpr size_t kBytesOfBlock = size_t{256} << 10;

  void begin_block();
  void settle_strata();
  struct FoundRow {
    std::string_view rows;
    uint32_t before;
  };
  FoundRow find_row(uint32_t row, std::string& storage) const;

  const size_t memory_bytes_;
  size_t rows_ = 0;
  uint32_t digest_ = 0;
  std::string buffer_;                      // encoded rows that are not in the file
  TextPlaces last_texts_;                   // in the buffer, of the last row of the last block
  std::deque<Block> blocks_;                // up to kRowsOfBlock rows each; fewer if they are long
  std::vector<uint32_t> left_out_;          // for each row left out, the number of the row after it
  std::vector<uint32_t> repeated_;          // where repeat_source_row() was called
  std::vector<uint64_t> source_rows_;       // where set_source_row() was called
  std::unique_ptr<SpillFile> file_;         // the rows before the buffer's rows
  std::unique_ptr<StoredExamples> stored_;  // all rows, or null
  RowKeys keys_;
};

// Rows of a table, both lists ascending.
struct Split {
  std::vector<uint32_t> train, held_out;
};

// Holds out about `fraction` of the rows of each stratum: those whose texts have the lowest hashes.
// The same texts are held out whatever the seed and the order of the file are. Equal texts stay
// together. A stratum with at least two texts has at least one on either side (unless fraction is
// 0). Where all rows of a stratum have the same text, they are divided. The rows `left_out`, which
// are ascending, are on neither side.
Split stratified_split(const RowKeys& keys, double fraction,
                       std::span<const uint32_t> left_out = {});

// Chooses about `fraction` of the rows of each stratum, and at least one of each, by `seed`. The
// result is ascending.
std::vector<uint32_t> stratified_fraction(const std::vector<uint32_t>& rows,
                                          const std::deque<int32_t>& strata, double fraction,
                                          uint64_t seed);

// Chooses `count` rows by `seed`, or all where there are not as many. The result is ascending.
std::vector<uint32_t> chosen_rows(const std::vector<uint32_t>& rows, int64_t count, uint64_t seed);

// The upper half of a 64-bit hash of the text, for RowKeys. No text has a hash that is lower than
// all others by its nature.
uint32_t text_hash(std::string_view text);

}  // namespace berth
