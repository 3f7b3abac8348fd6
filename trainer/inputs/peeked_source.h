#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/bytes.h"
#include "trainer/data/find_columns.h"

namespace berth {

// Decompresses TFRecords if their content is gzip. TensorFlow's writer may compress a file whatever
// its name is.
std::unique_ptr<ByteSource> plain_records(std::unique_ptr<ByteSource> stored);

// What the beginning of a file shows that may hold one word in each line. Both look at whole lines.

// Whether it begins with a header line, so that each line is a row of a table. Such a line has the
// names of columns of words and tags, or the names in `choice`. Or it has a usual name for texts,
// and most lines have several words there.
bool begins_sentence_table(std::string_view text, const ColumnChoice& choice);

// Whether each line is a sentence, and not a word with tags. Lines of words have one field, or the
// same number of tabs each, or counted words. Or they have a column of IOB tags or of `known_tags`,
// some of which may be missing (-1, _, - or ?). The first line may differ. `are_counted`: the job
// has read lines of counted words, so one such line is enough.
bool holds_plain_sentences(std::string_view text, const std::vector<std::string>& known_tags,
                           bool are_counted = false);

}  // namespace berth
