#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/formats/tf_example.h"
#include "trainer/data/features.h"
#include "trainer/model/task.h"
#include "trainer/text/tokenizer.h"

namespace berth {

struct TokenRecordOptions {
  Task task = kDefaultTask;
  int32_t max_seq_length = 128;  // tokens that each record is padded to
  int32_t num_labels = 0;
  bool with_weight = false;
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

}  // namespace berth
