#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "storage/formats/row_reader.h"
#include "trainer/text/tokenizer.h"

namespace berth {

// Rows that were tokenized elsewhere: TFRecords of tf.Example as google-research/bert and TF Model
// Garden write them (run_classifier.py, classifier_data_lib.py): input_ids (or input_word_ids),
// input_mask, segment_ids (or input_type_ids), label_ids, is_real_example.
//
// A table of them has the columns "text", which holds the ids and token types of the tokens that
// are not masked ("101 2002 102|0 0 0"), and "label" where the first record has one. Examples that
// only fill a batch (is_real_example 0) are left out. next() throws kBadData on a record without
// ids, arrays of different lengths, ids that are none, and labels that are no classes.
std::unique_ptr<RowReader> make_token_row_reader(std::unique_ptr<ByteSource> source);

// Such a text's ids and types. Throws kUsage when there are more than `max_length`, which the
// records' maker cut them to; kBadData on another text.
Encoding parse_token_row(std::string_view text, int32_t max_length);

}  // namespace berth
