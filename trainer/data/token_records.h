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
  int32_t max_seq_length = 128;  // records are padded to it
  int32_t num_labels = 0;
  bool with_weight = false;
};

// What make_record_examples() reads, as google-research/bert's run_classifier.py and TF Model
// Garden's create_finetuning_data.py write it, sorted by name: input_ids, input_mask and
// segment_ids, padded with 0; label_ids: one integer, of a score one float, of tags an integer a
// token (-1: none), of several labels a 0 or 1 for each; is_real_example 1; weight. Unlabelled ones
// have the labels that those programs give them, since their readers ask for some: 0, of tags -1.
// Not for questions.
std::vector<TfFeature> token_record(const Features& features, const TokenRecordOptions& options);

// The same for people: a line of JSON with tokens (where there is a tokenizer), input_ids and
// segment_ids, not padded, and label: a name, a score, a list of names, or of tags a list with null
// for none. Unlabelled: no label. `labels` are the classes' names.
std::string token_line(const Features& features, const TokenRecordOptions& options,
                       const std::vector<std::string>& labels, const Tokenizer* tokenizer);

}  // namespace berth
