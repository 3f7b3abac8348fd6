#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/base/dtype.h"
#include "trainer/data/example_table.h"
#include "trainer/data/features.h"
#include "trainer/data/masking.h"
#include "trainer/data/sentence_pairs.h"
#include "trainer/data/source_order.h"
#include "trainer/model/task.h"

namespace berth {

// How a table is shuffled (Sampler): runs of `rows` neighbours, and how many of them make a block.
// The last run may have fewer rows.
struct ShuffledRuns {
  int64_t rows = 1, runs_of_block = 1;
  // Blocks of as many neighbours.
  ShuffledRuns joined() const { return {.rows = rows * runs_of_block}; }
};

// How a job reads a table on disk. Jobs of earlier versions, which shuffled blocks of neighbours,
// do not have the rule.
inline constexpr const char* kRunsRule = "blocks of a large table have rows of all of it";

// Vectors for each row of a table, which the model should predict: what a teacher makes of the row.
// A row has one vector, or one for each of its tokens. Rows may be set by several threads, each row
// by one of them; reading is thread-safe once all are set.
class RowTargets {
 public:
  // One vector of `width` numbers for each row. `dtype` is the type in which the numbers are
  // stored: kBF16, which rounds them, or kF32.
  RowTargets(size_t rows, size_t width, DType dtype);
  // `vectors` has the number of vectors of each row.
  RowTargets(std::span<const uint32_t> vectors, size_t width, DType dtype);

  size_t rows() const { return first_.size() - 1; }
  size_t width() const { return width_; }
  DType dtype() const { return dtype_; }

  // Sets the vectors of a row from its vector `first` on. `numbers` are whole vectors.
  void set(uint32_t row, std::span<const float> numbers, size_t first = 0);
  // Appends `count` vectors of the row to `out`, from its vector `first` on.
  void append_to(uint32_t row, std::vector<float>& out, size_t first = 0, size_t count = 1) const;

  // The numbers of a row in the type in which they are kept.
  Bytes bytes(uint32_t row) const { return Bytes(values_).subspan(begin(row), row_bytes(row)); }
  void set_bytes(uint32_t row, Bytes bytes);
  size_t row_bytes(uint32_t row) const { return begin(row + 1) - begin(row); }

 private:
  // Where the row begins in the values.
  size_t begin(size_t row) const { return first_[row] * vector_bytes_; }

  size_t width_;
  DType dtype_;
  size_t vector_bytes_;
  std::vector<uint64_t> first_;  // the first vector of each row, and the number of all
  std::vector<std::byte> values_;
};

// The vectors that another model makes of the texts of each row of a table. Equal texts share one.
// Reading is thread-safe.
class TextVectors {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  // Text t of row r has the vector of row places[r * group + t] of `vectors`. Rows that nobody
  // reads have kNone.
  TextVectors(RowTargets vectors, size_t group, std::vector<uint32_t> places)
      : vectors_(std::move(vectors)), group_(group), places_(std::move(places)) {}

  bool has(uint32_t row) const { return places_[row * group_] != kNone; }
  // Appends the vectors of all texts of the row, which has them.
  void append_to(uint32_t row, std::vector<float>& out) const;

 private:
  const RowTargets vectors_;
  const size_t group_;
  const std::vector<uint32_t> places_;
};

// The features of one row. Throws what `maker` throws, and kBadData where features have no token.
// Errors name the row and the table.
std::vector<Features> make_features(const ExampleTable& table, const FeatureMaker& maker,
                                    uint32_t row);

class Dataset;
// Whether any features of a labelled data set have a label of a weight above 0. Of masked language
// models they do where masking hides a token, in the masks of an evaluation.
bool has_any_label(Dataset& data);

// Some rows of a table as features. A row has one feature. A question has one for each window of
// its context, and a document has one for each of its sequences. Where pairs are made of sentences,
// the features are as many pairs in every round, which begin() makes anew. If the table is in
// memory, features are made at their first use and stored; for windows, only the tokens of the row
// are stored. If it is on disk, rows are tokenized each time, and a small cache holds the last
// ones. Borrows the table and the maker. Used by one thread at a time.
class Dataset {
 public:
  // `labelled`: the features have labels. Where rows are questions or documents, this reads all of
  // them to count their windows.
  Dataset(const ExampleTable& table, std::vector<uint32_t> rows, Task task,
          const FeatureMaker& maker, bool labelled);

  // Begins a round, where features are pairs. Else it does nothing. The first round is
  // the one of evaluation.
  void begin(const MaskingRound& round) {
    if (pairs_) pairs_->pairs.begin(round);
  }

  bool has_pairs() const { return pairs_ != nullptr; }

  int64_t size() const;  // of features
  int64_t rows() const { return static_cast<int64_t>(rows_.size()); }
  Task task() const { return task_; }
  bool labelled() const { return labelled_; }
  // Has tokens of every sequence masked when it is packed; their ids are then its labels. The
  // masking must outlive this.
  void mask_with(const Masking& masking) { masking_ = &masking; }
  const Masking* masking() const { return masking_; }  // null: nothing is masked
  // How features are shuffled: all among each other, or the rows of a block that is read from disk.
  // The blocks of a data set that is read in its order are neighbours, as in earlier versions.
  ShuffledRuns shuffled_runs() const;
  void read_in_order() { is_read_in_order_ = true; }

  // The row that the features at `index` belong to: its place among rows(), and its number in the
  // table.
  int64_t row_index(int64_t index) const;
  uint32_t row(int64_t index) const { return rows_[static_cast<size_t>(row_index(index))]; }
  // That row's number in the source, which counts rows that were left out.
  uint64_t source_row(int64_t index) const { return table_.source_row(row(index)); }
  // The same of an epoch, whatever the round is. Reads only constant data.
  uint64_t source_row(int64_t index, int64_t epoch) const;
  Example example(int64_t index) const { return table_.read(row(index)); }
  // The names of its labels. Of words without a tag, the name is empty.
  std::vector<std::string> label_names(int64_t index) const;
  // What that row is known by; empty: its number.
  std::string id(int64_t index) const { return table_.has_ids ? example(index).id : ""; }

  // The number of tokens of the features at `index`. Makes the features unless tokens were counted.
  // The tokens of windows are counted at the construction.
  int64_t length(int64_t index);
  // Counts the tokens of all features on `threads` threads, which makes every feature. Throws what
  // features() would throw first. Returns early once `stop` is set; the data set must not be used
  // after that.
  void count_tokens(int threads, const std::atomic<bool>& stop);

  // An estimate, in bytes, of the memory that this holds once all features were asked for. Makes
  // the features of some rows and judges the others by them.
  size_t memory_bytes();

  // Valid until the next call.
  const Features& features(int64_t index);

  // Gives each row of the table what a teacher makes of it: the vectors that are its labels, where
  // labels are vectors, else the logits. A teacher's scores and sets of classes are mixed with the
  // labels by `weight`. For classes, the batch has the teacher's outputs beside the labels.
  // Borrowed.
  void set_targets(const RowTargets& targets, double weight = 1) {
    targets_ = &targets;
    target_weight_ = static_cast<float>(weight);
  }
  const RowTargets* targets() const { return targets_; }
  // Which of the row's vectors is the first one of the features at `index`: the number of tokens in
  // the windows of the row that come before.
  size_t first_vector(int64_t index);
  float target_weight() const { return target_weight_; }

  // Says that the rows come from several sources, one behind the other. Each row has one feature.
  void set_sources(std::vector<RowSource> sources) { sources_ = std::move(sources); }
  const std::vector<RowSource>& sources() const { return sources_; }  // empty: there is one
  // All rows are from the source of this number, which has another order than these rows.
  void set_source(int32_t number) { source_ = number; }
  int32_t source_of(int64_t index) const;  // the number of a source

  // Gives each row the vectors that another model makes of its texts. Borrowed.
  void set_text_vectors(const TextVectors& vectors) { text_vectors_ = &vectors; }
  const TextVectors* text_vectors() const { return text_vectors_; }

 private:
  std::vector<Features> make(uint32_t row) const;
  std::unique_ptr<RowFeatures> plan(uint32_t row);
  const RowFeatures& recent(int64_t row);
  const RowFeatures& recent_windows(int64_t row);
  size_t most_recent_bytes() const;  // of recent_windows_: of the rows of a block, and as much more
  void count_windows();
  void make_pairs();
  void count_tokens_of(size_t row);
  bool has_windows() const { return !first_feature_.empty(); }
  const RowFeatures& windows_of(int64_t row);
  const Features& compose(const SentencePair& pair);
  void append(const SentenceRun& run, int32_t type);

  const ExampleTable& table_;
  const std::vector<uint32_t> rows_;
  const Task task_;
  const FeatureMaker& maker_;
  const bool labelled_;
  const Masking* masking_ = nullptr;
  const RowTargets* targets_ = nullptr;
  float target_weight_ = 1;
  const TextVectors* text_vectors_ = nullptr;
  std::vector<RowSource> sources_;
  int32_t source_ = 0;
  // The first feature of each row, and the number of features. Empty where each row has one.
  std::vector<uint32_t> first_feature_;
  std::vector<Features> kept_;     // of a table in memory; without tokens until they are made
  std::vector<uint32_t> lengths_;  // tokens of each feature; empty until they are counted
  std::vector<std::unique_ptr<RowFeatures>> windows_;  // of each row of a table in memory
  Features current_;                                   // the features of the last call
  std::unique_ptr<PairMaker> pairs_;                   // of the features above; null: none are made
  Features sentence_;                                  // one of a pair
  size_t windows_of_rows_ = 0;                         // the memory that all windows take, in bytes

  // The caches of a table on disk. Without windows, a row's place is its number modulo the size.
  struct Recent {
    int64_t row = -1;
    std::unique_ptr<RowFeatures> features{};
  };
  std::vector<Recent> recent_;
  std::map<int64_t, std::unique_ptr<RowFeatures>> recent_windows_;  // by row
  size_t recent_bytes_ = 0;                                         // of these
  size_t most_windows_ = 0;  // the most memory that the windows of one row take, in bytes
  size_t longest_row_ = 0;   // the most memory that tokenizing one of them takes, about
  bool is_read_in_order_ = false;
};

}  // namespace berth
