#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "storage/formats/row_reader.h"
#include "trainer/data/find_columns.h"
#include "trainer/model/task.h"

namespace berth {

// A table that has one word in each row, as many spreadsheets of tagged words do.
struct WordRows {
  size_t sentence = 0;           // the column that says which sentence a word belongs to
  size_t word = 0;               // the column of words
  bool begins_sentence = false;  // that column is filled in the first row of a sentence only
  // The column that says which document a word belongs to. Ids of sentences may begin anew there.
  std::optional<size_t> document{};
};

// Looks at the first rows. A tenth of the words may be several. `sentence_column` is what the user
// says: the name of a column, "none" for a table whose rows are sentences, or empty. nullopt: it is
// no such table. Throws kBadData if there is no such column.
std::optional<WordRows> find_word_rows(const PeekedTable& first, const ColumnChoice& choice,
                                       const std::string& sentence_column,
                                       std::optional<Task> task);

// Throws kBadData where the first rows have one word with an IOB tag each, but nothing says which
// sentence it belongs to. `sentence_column` is as above: "none" accepts such rows.
void require_sentences(std::span<const Column> columns, std::span<const Row> rows,
                       const ColumnChoice& choice, const std::string& sentence_column,
                       std::optional<Task> task);

// Whether the columns have the names of such a table: a sentence and a word.
bool names_word_rows(std::span<const Column> columns);

// The same table with a sentence in each row. Cells become lists, except the cells that identify
// the sentence. next() throws kBadData, after a whole sentence, where a word or the sentence is
// missing.
std::unique_ptr<RowReader> join_words(std::unique_ptr<RowReader> rows, const WordRows& layout);

}  // namespace berth
