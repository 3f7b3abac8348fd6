#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "storage/formats/row_reader.h"

namespace berth {

// Comma-separated values as RFC 4180 and pandas.to_csv write them: a header line, fields quoted
// with '"' where needed (doubled inside, newlines allowed), LF or CRLF, an optional UTF-8 BOM.
// An empty unquoted field is missing, a blank line between records is skipped, and a quote inside
// an unquoted field is text. Cells are strings: the label column's type is the reader's caller's
// business. A row with another number of fields than the header, two columns of one name (but for
// unnamed ones) and a line or record above 64 MiB are kBadData; a quote that took more lines and
// has no proper end is kCorrupt, since nobody knows how many rows it took; a header without rows is
// a table.
std::unique_ptr<RowReader> make_csv_reader(std::unique_ptr<ByteSource> source);

// Tab-separated values as GLUE writes them: a header line, no quoting at all, nothing stripped; an
// empty field is missing, a blank line skipped.
std::unique_ptr<RowReader> make_tsv_reader(std::unique_ptr<ByteSource> source);

// The same without a header line: the columns are named 0, 1, ...
std::unique_ptr<RowReader> make_headless_tsv_reader(std::unique_ptr<ByteSource> source);

// TFRecords of tf.Examples as TensorFlow Datasets write them. The columns are the first one's
// features, by name; a feature of several values is a JSON list of them, one without is missing;
// SQuAD's answers/text and answers/answer_start are one column, answers, as Hugging Face has it.
// Integers of the features in `names` are classes, by their place.
using ClassNames = std::map<std::string, std::vector<std::string>>;
std::unique_ptr<RowReader> make_tf_example_rows(std::unique_ptr<ByteSource> source,
                                                ClassNames names);

// One word a line with its tag in the last field, a blank line behind each sentence, as CoNLL's
// tasks have it; lines of -DOCSTART- are skipped. A row is a sentence: columns tokens and tags, as
// JSON lists. Where lines have one field, or tags are ignored, there is no column tags; ignored
// ones may be missing from some lines.
enum class WordTags { kIfPresent, kIgnored };
std::unique_ptr<RowReader> make_conll_reader(std::unique_ptr<ByteSource> source,
                                             WordTags tags = WordTags::kIfPresent);

// One JSON object a line; blank lines are skipped. The columns are the first object's keys, in its
// order; a key that a later object lacks is missing there, one that it adds is ignored. A nested
// value is kept as its JSON text.
std::unique_ptr<RowReader> make_jsonl_reader(std::unique_ptr<ByteSource> source);

}  // namespace berth
