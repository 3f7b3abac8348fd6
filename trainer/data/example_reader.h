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
#include "trainer/data/label_form.h"
#include "trainer/model/task.h"

namespace berth {

// Whether answers must stand where the data say.
enum class AnswerPlaces : uint8_t {
  kExact,  // as a training needs
  kAny,    // scores compare texts alone, as SQuAD's script does; the place is the nearest one
};

// Reads the rows of one file as examples of a task. Not thread-safe.
class ExampleReader {
 public:
  virtual ~ExampleReader() = default;

  // Reads the next row; false at the end. Its labels become entries of `labels`. Throws kBadData
  // for a malformed row, naming its position; the next call reads the row after it.
  virtual bool next(Example& example, LabelDictionary& labels) = 0;
  // Where the row last read stands, for messages: "line 4".
  virtual std::string position() const = 0;
  // Whether the examples have labels, numbers or answers.
  virtual bool labelled() const = 0;
  // How many rows were left out before the one last read because they are meant to have no label.
  virtual size_t left_out() const { return 0; }
  // Whether the example last read is of the same row as the example before it.
  virtual bool is_repeated() const { return false; }
  // What was found out until now about how the rows are written.
  virtual std::vector<Finding> findings() const { return {}; }
};

// Reads the rows of a table. What its cells hold:
//   text            may be empty, but not missing
//   class           a text, an integer or a boolean (True, False)
//   set of classes  a list, or names joined as LabelForm says, or a multi-hot list, or one column
//                   of 0 and 1 for each class
//   words, tags     a list, or texts separated by spaces
//   answers         {"text": [...], "answer_start": [...]}, as in Hugging Face's data sets
//   choices         a column for each, or a list; see choice_rows.h
// A list is written as JSON, Python or NumPy writes it. Of pairs with classes, rows whose class is
// "-", or -1 where LabelForm says so, are left out: their annotators did not agree.
std::unique_ptr<ExampleReader> make_table_examples(std::unique_ptr<RowReader> rows,
                                                   const FoundColumns& columns, Task task,
                                                   const LabelForm& form = {},
                                                   AnswerPlaces places = AnswerPlaces::kExact);

// How many token ids and token types a model has. 0: there is no limit.
struct TokenLimits {
  int64_t vocab_size = 0, type_vocab_size = 0;
};

struct RecordRules {
  std::optional<Task> task{};              // empty: deduced from the first record
  std::vector<std::string> label_names{};  // the names of the integers; empty: their digits
  LabelNeed need = LabelNeed::kIfPresent;  // labels that are ignored are not read
  TokenLimits limits{};
};
struct RecordExamples {
  std::unique_ptr<ExampleReader> reader;  // null for a file without records
  std::optional<Task> task;               // as given, or as deduced
};

// Reads rows that were tokenized elsewhere: TFRecords of tf.Example as google-research/bert
// (run_classifier.py) and TensorFlow's Model Garden (classifier_data_lib.py) write them. The
// features are input_ids (or input_word_ids), input_mask, segment_ids (or input_type_ids),
// label_ids, is_real_example and weight. Masked language models also read the features of
// create_pretraining_data.py: masked_lm_positions, masked_lm_ids, masked_lm_weights and
// next_sentence_labels. Tokens that input_mask hides are padding and are dropped.
// Examples that only fill up a batch (is_real_example 0) are left out. label_ids is one integer for
// a class, or one float for a number. For tags it has an integer for each token, and for sets a 0
// or 1 for each class. If `rules` name no task, it is inferred from the first three of these.
RecordExamples make_record_examples(std::unique_ptr<ByteSource> source, RecordRules rules);

// Reads SQuAD's JSON, version 1.1 or 2.0 (Rajpurkar et al. 2016, arXiv:1606.05250): data,
// paragraphs, context, qas. An answer's place counts code points of the context, as Python does.
// These are read, too: a list of articles or of paragraphs alone, as simpletransformers has it, and
// JSON lines, each of them an article or a paragraph. Answers that are ignored are not read. Throws
// kBadData where the file is not SQuAD's JSON.
std::unique_ptr<ExampleReader> make_squad_examples(std::unique_ptr<ByteSource> source,
                                                   LabelNeed need = LabelNeed::kIfPresent,
                                                   AnswerPlaces places = AnswerPlaces::kExact);

// The start of an answer as Answer holds it. Throws kBadData, naming `where`, for a number that no
// context reaches.
uint32_t answer_start(uint64_t code_points, const std::string& where = "");

// Throws kBadData where an answer does not stand in its context at the place it names. The usual
// cause is a file whose places count bytes or UTF-16 units and not code points. With kAny, such an
// answer moves to the nearest place, or behind the context where it does not stand in it. Blanks
// around an answer are taken away; returns whether there were any.
bool settle_answers(Example& example, AnswerPlaces places);
Finding trimmed_answers();  // says that there were

// The text whose hash decides whether an example is held out for validation. It is the context of a
// question, so that all questions of one context stay together.
std::string split_key(const Example& example, Task task);

}  // namespace berth
