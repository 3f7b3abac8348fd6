#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/formats/row_reader.h"
#include "trainer/data/example.h"
#include "trainer/data/find_columns.h"
#include "trainer/data/label_dictionary.h"
#include "trainer/model/task.h"

namespace berth {

// One file's rows as examples of a task. Not thread-safe.
class ExampleReader {
 public:
  virtual ~ExampleReader() = default;

  // The next row; false at the end. Its labels become entries of `labels`. Throws kBadData,
  // naming the position, on a row that is none; the next call reads the row after it.
  virtual bool next(Example& example, LabelDictionary& labels) = 0;
  virtual std::string position() const = 0;
  // Whether examples have labels, scores or answers.
  virtual bool labelled() const = 0;
};

// Rows of a table. A text may be empty, but not missing; a class is a text, an integer or a boolean
// (True, False); several classes are a list or joined by '|' (or ',' where there is none), or
// columns of 0 and 1; words and tags are lists or parted by spaces; a list is JSON's or Python's;
// answers are Hugging Face's
// {"text": [...], "answer_start": [...]}.
std::unique_ptr<ExampleReader> make_table_examples(std::unique_ptr<RowReader> rows,
                                                   const FoundColumns& columns, Task task);

// How many token ids and token types a model knows; 0: any are.
struct TokenLimits {
  int64_t vocab_size = 0, type_vocab_size = 0;
};

struct RecordRules {
  std::optional<Task> task{};              // empty: the first record tells
  std::vector<std::string> label_names{};  // what the integers stand for; empty: themselves
  LabelNeed need = LabelNeed::kIfPresent;  // ignored labels are not read
  TokenLimits limits{};
};
struct RecordExamples {
  std::unique_ptr<ExampleReader> reader;  // null of a file without records
  std::optional<Task> task;
};

// Rows that were tokenized elsewhere: TFRecords of tf.Example as google-research/bert and TF Model
// Garden write them (run_classifier.py, classifier_data_lib.py): input_ids (or input_word_ids),
// input_mask, segment_ids (or input_type_ids), label_ids, is_real_example, weight. Of the tokens
// those that are not masked are taken; examples that only fill a batch (is_real_example 0) are left
// out. An empty `task` is told by the first record's label_ids: one integer is a class, one number
// a score, an integer for each token a tag. Of several labels label_ids has a 0 or 1 for each.
RecordExamples make_record_examples(std::unique_ptr<ByteSource> source, RecordRules rules);

// SQuAD's JSON, version 1.1 or 2.0 (Rajpurkar et al. 2016, arXiv:1606.05250): data, paragraphs,
// context, qas. Answers' places are code points of the context, as Python counts. Ignored answers
// are not read.
std::unique_ptr<ExampleReader> make_squad_examples(std::unique_ptr<ByteSource> source,
                                                   LabelNeed need = LabelNeed::kIfPresent);

// Throws kBadData where an answer is not in its context at the place it names: then the places
// count something else than code points.
void require_answers(const Example& example);

// The text that tells where an example goes when rows are held out: all windows and questions of
// one context stay together.
std::string split_key(const Example& example, Task task);

}  // namespace berth
