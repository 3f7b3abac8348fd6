#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/base/error.h"
#include "storage/formats/row_reader.h"
#include "trainer/data/example.h"
#include "trainer/data/example_reader.h"
#include "trainer/data/example_table.h"
#include "trainer/data/find_columns.h"
#include "trainer/data/group_texts.h"
#include "trainer/data/label_form.h"
#include "trainer/data/odd_rows.h"
#include "trainer/model/task.h"

namespace berth {

// A RowReader that buffers its first rows. A caller can look at these rows before it calls next().
class PeekedRows final : public RowReader {
 public:
  static constexpr size_t kRows = 1000;

  explicit PeekedRows(std::unique_ptr<RowReader> rows, size_t most = kRows)
      : rows_(std::move(rows)) {
    // An error is thrown later, when next() reaches its row.
    try {
      for (Row row; peeked_.size() < most && rows_->next(row);) {
        peeked_.push_back(std::move(row));
        positions_.push_back(rows_->position());
      }
    } catch (const Error& error) {
      failure_ = error;
    }
  }

  std::span<const Column> columns() const override { return rows_->columns(); }
  std::span<const Row> peeked() const { return peeked_; }
  void select(std::span<const size_t> columns) override { rows_->select(columns); }

  bool next(Row& row) override {
    if (next_ < peeked_.size()) {
      position_ = positions_[next_];
      row = std::move(peeked_[next_++]);
      return true;
    }
    position_.reset();
    if (failure_) {
      const Error failure = *failure_;
      failure_.reset();
      throw failure;
    }
    return rows_->next(row);
  }

  std::string position() const override { return position_.value_or(rows_->position()); }
  bool is_of_texts() const override { return rows_->is_of_texts(); }
  std::vector<Finding> findings() const override { return rows_->findings(); }

 private:
  const std::unique_ptr<RowReader> rows_;
  std::vector<Row> peeked_;
  std::vector<std::string> positions_;
  size_t next_ = 0;
  std::optional<std::string> position_;
  std::optional<Error> failure_;
};

// Compares the rows of one file with the rows of the files before it. Not thread-safe.
class FileRows {
 public:
  bool are_several() const { return !before_.empty(); }
  // Call this before the first row if the table has several files.
  void expect_several() { before_.resize(size_t{1} << kBitsOfPlace); }
  // Later rows belong to another file. The files before it have `labels` labels.
  void begin_file(size_t labels);
  void add(const Example& example, bool has_score);
  // Whether no row of this file has a label of the files before it, although both have several.
  // `labels`: of all files.
  bool has_other_labels(size_t labels) const {
    return labels_before_ > 1 && labels > labels_before_ + 1 &&
           lowest_label_ >= static_cast<int64_t>(labels_before_);
  }

  size_t labels_before() const { return labels_before_; }  // see begin_file()

  const ScoreScale& scale() const { return scale_; }  // of this file
  // Whether at least half of this file's rows are in earlier files, too, and it has ten rows or
  // more. Rows are compared by hashes of 26 bits, so behind many millions of rows this can be
  // wrong.
  bool are_repeated() const { return rows_ >= 10 && repeated_ * 2 >= rows_; }
  size_t repeated() const { return repeated_; }

 private:
  static constexpr int kBitsOfPlace = 26;  // 8 MiB of bits

  ScoreScale scale_;
  size_t rows_ = 0, repeated_ = 0;
  size_t labels_before_ = 0;
  int64_t lowest_label_ = INT64_MAX;  // the first entry (LabelDictionary) of this file's labels
  std::vector<uint32_t> own_;         // the hashes of this file's rows
  // A bit for each hash: whether a row of the files before this one has it. Empty: the table has
  // one file.
  std::vector<bool> before_;
};

// Watches the ids of rows for equal and missing ones. Holds 8 bytes for each id. Not thread-safe.
class EqualIds {
 public:
  void add(std::string_view id);  // empty: the row has none
  // Warnings where rows have the id of an earlier row, and where some have none. Called at most
  // once.
  std::vector<Finding> findings();

 private:
  size_t missing_ = 0;
  std::vector<uint64_t> hashes_;
  std::deque<std::string> first_;  // the ids of the first rows, for an example
};

struct LoadRules {
  std::optional<Task> task{};  // empty: deduced from the first file
  ColumnChoice columns{};
  LabelForm labels{};
  // Where each row holds one word: the column that says to which sentence the word belongs. Empty:
  // found by its name; "none": each row holds a sentence.
  std::string sentence_column{};
  LabelNeed need = LabelNeed::kRequired;
  // Whether a task may become another one where the first file has no labels; see
  // TaskTraits::unlabelled.
  bool may_lack_labels = true;
  // Whether rows that have negatives are compared without labels, so that no negative is lost.
  bool prefers_groups = false;
  // Whether rows are refused that have negatives, and labels by the name of a column alone: as
  // pairs with labels they would lose the negatives.
  bool refuses_both_kinds = false;
  // Where texts are compared: whether rows must, may or need not have a teacher's scores.
  LabelNeed text_scores = LabelNeed::kIgnored;
  int64_t skip_bad_rows = 0;                // the most malformed rows that are left out
  bool keeps_missing_texts = false;         // as empty ones, so that every row keeps its place
  bool ignores_negatives = false;           // their columns are named, and not read
  int64_t max_negatives = 0;                // the most negatives of a row that are read; 0: all
  bool keeps_keys = false;                  // keep the keys of rows, by which the table is split
  std::vector<std::string> known_labels{};  // a row with another is malformed; empty: accept all
  AnswerPlaces places = AnswerPlaces::kExact;
  bool labels_by_number = false;  // a row may have the number of a known label instead
  // Other names of the known labels, in their order. Empty: they have none.
  std::vector<std::string> other_labels{};
  // Whether the known labels are the usual ones of a benchmark: the classes that the first file
  // declares outrank them.
  bool known_are_usual = false;
  std::string hint_for_unknown{};  // what to do about a label that is not known
  // For TFRecords: the names of the integers that stand for labels. Empty: their digits.
  std::vector<std::string> record_labels{};
  TokenLimits token_limits{};  // for TFRecords: the token ids that they may hold
  // For shards of tokens, which load_token_shards() reads: tokenizer_checksum() of the model's
  // tokenizer. Empty: any will do.
  std::function<uint32_t()> tokenizer_checksum{};
};

// Reads the files of one data set into one table. The rows of each file follow the rows of the file
// before it. Not thread-safe.
class TableLoader {
 public:
  explicit TableLoader(const LoadRules& rules, size_t memory_bytes = ExampleTable::kMemoryBytes)
      : rules_(rules), table_(std::make_unique<ExampleTable>(memory_bytes)) {
    table_->labels.restrict_to(rules.known_labels, rules.labels_by_number, rules.other_labels,
                               rules.hint_for_unknown);
  }

  // Each reads all rows of a file. Throws kBadData
  //   - if a column is missing, listing the existing columns,
  //   - for the first malformed row after `skip_bad_rows` rows were left out, naming it,
  //   - if a later file has other columns of texts, labels or negatives than the first file, or
  //     another number of texts in a row.
  // Errors do not name the file; the caller adds it with Error::at().
  void append_rows(std::unique_ptr<RowReader> rows);
  void append_records(std::unique_ptr<ByteSource> source);  // TFRecords of token ids
  void append_squad(std::unique_ptr<ByteSource> source);

  // Call this before the rows of each file.
  void begin_file(bool is_one_of_several);
  bool has_several_files() const { return file_rows_.are_several(); }
  const FileRows& file_rows() const { return file_rows_; }  // since begin_file()
  // A warning where the file seems to belong to another data set than the files before it.
  std::vector<Finding> look_at_file() const;

  // Called before append_rows() for a file of words. Its first column holds the words, and the
  // second one, if there is one, the tags, whatever their names are.
  void expect_words(std::span<const Column> columns);

  // Adds the findings whose text is new.
  void add_findings(const std::vector<Finding>& findings);

  // Returns the table. Throws kBadData where no file had a row, or where labels that should be
  // classes are fractions. Called at most once.
  std::unique_ptr<ExampleTable> finish();

  // These are known after the first file.
  Task task() const { return *rules_.task; }
  const ColumnChoice& columns() const { return rules_.columns; }  // the columns that were read
  const LabelForm& label_form() const { return rules_.labels; }
  const std::string& sentence_column() const { return rules_.sentence_column; }
  // The labels that are accepted; empty: all.
  const std::vector<std::string>& known_labels() const { return rules_.known_labels; }
  // The classes that the first file declares, in its order. Empty: it declares none.
  const std::vector<std::string>& declared_classes() const { return declared_classes_; }
  // What was found out about the files and their rows, with warnings; each text once.
  const std::vector<Finding>& findings() const { return findings_; }
  int64_t skipped_rows() const { return skipped_; }
  // What was wrong with the first row left out, and where it stands in its file.
  const std::string& first_skipped() const { return first_skipped_; }

 private:
  bool becomes_unlabelled(std::span<const Column> columns) const;
  bool becomes_groups(std::span<const Column> columns) const;
  void require_one_kind(std::span<const Column> columns) const;
  FoundColumns find(const PeekedRows& rows);
  FoundColumns find_in_first(std::span<const Column> columns, Task task);
  void look_at_unread_labels(const PeekedRows& rows, const FoundColumns& found);
  std::vector<size_t> text_scores_in(std::span<const Column> columns) const;
  void say_text_scores(std::span<const Column> columns);
  void say_other_columns(const ColumnChoice& read);
  void warn_of_no_scores(const PeekedRows& rows);
  void warn_of_header(const Column& column);
  void warn_of_unread_labels(std::span<const Column> columns, const FoundColumns& found);
  void warn_of_unread(std::span<const Column> columns, const FoundColumns& found);
  void require_words(const PeekedRows& rows, const FoundColumns& found) const;
  bool lacks_labels(const PeekedRows& rows, const FoundColumns& found) const;
  void take_classes(const Column& labels);
  // How the labels of the first file are written, unless the rules say it.
  void find_form(const PeekedRows& rows, const FoundColumns& found, bool is_given);
  void append(ExampleReader& reader);
  std::unique_ptr<PeekedRows> joined(std::unique_ptr<PeekedRows> rows);
  void require_labels(const ExampleReader& reader);
  void require_as_many_texts(const Example& example);
  void require_masked_alike(const Example& example);

  LoadRules rules_;
  bool has_file_ = false;
  std::vector<std::string> declared_classes_;
  bool has_spans_ = false;            // whether the file's tags belong to spans
  bool has_several_texts_ = false;    // whether a row has several texts, or a sentence two words
  size_t texts_ = 0;                  // in a row, where texts are compared or chosen from
  std::optional<bool> are_masked_{};  // whether the tokens of rows are masked already
  std::unique_ptr<ExampleTable> table_;
  int64_t skipped_ = 0;
  std::string first_skipped_;
  FileRows file_rows_;
  EqualIds ids_;  // where labels are not read: a prediction or a vector is found by its id
  bool has_begun_ = false;
  std::vector<std::string> marked_;  // the columns of marks, each of which is a label
  std::string lacked_weights_;  // the column of weights that the first file may lack, and lacks
  std::vector<Finding> findings_;
};

}  // namespace berth
