#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "storage/formats/row_reader.h"

// The readers of each kind of table. A function throws what it finds wrong with the beginning of
// the file. A reader belongs to one thread.
namespace berth {

// Reads comma-separated values as RFC 4180 and pandas.to_csv define them: a header line, fields, LF
// or CRLF, and an optional UTF-8 BOM. The separator is the one of , ; | and the tab that the header
// has most of (a comma if none; a first line such as sep=; names another). Fields are quoted with
// '"' where needed (a quote inside is doubled, newlines are allowed). An empty unquoted field is
// missing. Blank lines between records are skipped. A quote inside an unquoted field is ordinary
// text. All cells are strings; interpreting them is up to the caller. A header without rows is an
// empty table.
//
// Throws kBadData if a row has a different number of fields than the header, or if two columns
// share a name (unless it is empty). Also throws it on a line or record above 64 MiB. Throws
// kCorrupt if a quoted field spans lines and does not end properly, because it is unknown how many
// rows it contains. `delimiter`, unless it is 0, is the separator instead. Without `quotes`, a
// quote is ordinary text everywhere, and a field does not span lines.
std::unique_ptr<RowReader> make_csv_reader(std::unique_ptr<ByteSource> source, char delimiter = 0,
                                           bool quotes = true);

// Reads rows that have tabs, or `delimiter`, between their fields. In GLUE's files, quotes are
// text. In files of pandas.to_csv(sep="\t"), quotes follow CSV's rules. The beginning of the file
// decides (find_tsv_quotes()), unless `quoting` does.
std::unique_ptr<RowReader> make_quoted_tsv_reader(std::unique_ptr<ByteSource> source,
                                                  char delimiter, Quoting quoting);

// Reads tab-separated values as GLUE writes them: a header line, no quoting, and nothing trimmed.
// An empty field is missing. Blank lines are skipped.
std::unique_ptr<RowReader> make_tsv_reader(std::unique_ptr<ByteSource> source,
                                           char delimiter = '\t');

// The same without a header line. The columns are named 0, 1, ...
std::unique_ptr<RowReader> make_headless_tsv_reader(std::unique_ptr<ByteSource> source);

// Reads TFRecords of tf.Examples as TensorFlow Datasets writes them. The columns are the features
// of the first example, sorted by name. A feature with several values becomes a JSON list, and one
// without values is missing. SQuAD's answers/text and answers/answer_start become one column
// "answers", as in Hugging Face's version of the data. For the features in `names`, integers are
// replaced by the class name at that index.
using ClassNames = std::map<std::string, std::vector<std::string>>;
std::unique_ptr<RowReader> make_tf_example_rows(std::unique_ptr<ByteSource> source,
                                                ClassNames names);

// Reads plain text as LinesReader does: each line is a row, whose only column is "text". Where the
// first line begins with __label__, the file is fastText's: the words that begin so are the labels,
// and the columns are "text" and "label". A label is a text, or a JSON list of texts where the line
// has several or a line of the first MiB has.
std::unique_ptr<RowReader> make_lines_reader(std::unique_ptr<ByteSource> source);

// Reads plain text as documents, as google-research/bert's create_pretraining_data.py does: lines
// up to a blank one are a row, whose only column is "text". Its lines stand on lines of their own.
// Throws kBadData on a document above 64 MiB.
std::unique_ptr<RowReader> make_documents_reader(std::unique_ptr<ByteSource> source);

// Reads one word per line with its tag and a blank line after each sentence, as in the CoNLL tasks.
// find_conll_layout() says which fields are the word and the tag. Lines that begin with -DOCSTART-
// are skipped, and so are comments, which begin with # before a sentence, and a first line that
// names columns. A row is a sentence with two columns, both JSON lists: "tokens" and "tags", or the
// numbers of the fields. There is no column of tags if no field follows the word, or if tags are
// ignored. Ignored tags may be missing from some lines.
enum class WordTags { kIfPresent, kIgnored };
std::unique_ptr<RowReader> make_conll_reader(std::unique_ptr<ByteSource> source,
                                             WordTags tags = WordTags::kIfPresent,
                                             const TextForm& form = {});

// Reads one JSON object per line; blank lines are skipped. The columns are the keys of the first
// object, in order. A later object may lack some of them, whose values are then missing; its
// additional keys are ignored. A nested value becomes JSON text. A pair ["text", {...}], as spaCy 2
// is trained with, is read as an object that has the key "text", too.
std::unique_ptr<RowReader> make_jsonl_reader(std::unique_ptr<ByteSource> source);

// Reads a .json file: JSON lines, an array of objects, or one object that is a table in one of the
// forms ("orients") of pandas' to_json():
//   {"text": {"0": "a", ...}, ...} or {"text": ["a", ...], ...}    columns, by their names
//   {"0": {"text": "a", ...}, ...}                                 rows, by the numbers of an index
//   {"columns": ["text", ...], "data": [["a", ...], ...]}          split
//   {"data": [{"text": "a", ...}, ...]}                            table, and files of other
//   programs
//   {"classes": [...], "annotations": [["a", {...}], ...]}         pairs, as spaCy's annotators
//   write
// Arrays are read element by element. For an object of these forms, memory holds the text and four
// bytes for each row or cell. Throws what the reader of JSON lines throws, kMemory where an object
// is larger than 1 GiB, and kCorrupt where an array does not end.
std::unique_ptr<RowReader> make_json_reader(std::unique_ptr<ByteSource> source);

// Reads Apache Parquet (parquet.apache.org/docs/file-format), as pandas, pyarrow, polars, datasets
// and fastparquet write it: every encoding of data pages of both versions; uncompressed or
// compressed by snappy, gzip, zstd or lz4; any number of row groups. The columns are the columns of
// the top level, without a nameless index of pandas. A nested column becomes JSON text. Integers
// for which the file has names of classes (datasets' ClassLabel) become these names. Categories are
// pandas'. columnar/cell_maker.h describes the other conversions of values.
//
// `file` must have a view(). Memory holds the metadata, and for each selected column a page and the
// dictionary of a row group. Throws kCorrupt where the file is damaged, and kBadData where it is
// encrypted or uses what this reader does not have.
std::unique_ptr<RowReader> make_parquet_reader(std::unique_ptr<RandomAccessSource> file);

// Reads Apache Arrow's files and streams (arrow.apache.org/docs/format/Columnar.html), as pyarrow,
// pandas (Feather of version 2), polars and datasets write them; the content shows which one it is.
// Buffers may be compressed by lz4 or zstd. Dictionaries may grow, and in a stream be replaced. A
// Parquet file with the same table gives the same cells. Columns of unions, intervals and run-end
// encoded values are Column::unreadable.
//
// `file` must have a view(). Memory holds the metadata, the dictionaries and, of the selected
// columns, the decompressed buffers of a record batch. Throws kCorrupt if the file is damaged, also
// if a stream ends without the mark of its end. Throws kBadData if it is a Feather file of version
// 1 or uses a feature that this reader does not have.
std::unique_ptr<RowReader> make_arrow_reader(std::unique_ptr<RandomAccessSource> file);

// Reads the files of numpy.save, numpy.savez and numpy.savez_compressed; the content shows which
// one it is. Each array of an archive is a column that has the array's name, and all have the same
// number of rows. An array of one dimension has a cell for each row. In an array of two dimensions
// each row is a list, as JSON text. An array of records has a column for each field. Python objects
// are read from their pickle without running it.
//
// `file` must have a view(). Memory holds a block of rows of each selected array, and arrays of
// Python objects as a whole. Throws kCorrupt if the file is damaged, at the latest after the last
// row of a selected array. Throws kBadData if the arrays do not form a table.
std::unique_ptr<RowReader> make_numpy_reader(std::unique_ptr<RandomAccessSource> file);

}  // namespace berth
