#pragma once

#include <cstdint>
#include <span>

#include "trainer/data/example_table.h"
#include "trainer/text/tokenizer.h"

namespace berth {

struct JoinOptions {
  int32_t block_tokens = 128;  // special tokens included
  // Whether a block is one sequence. If not, each document in it, or part of one, is a sequence.
  bool is_one_sequence = false;
  bool joins_blank = false;  // whether documents of blanks alone are joined, too
};

// Joins documents and cuts them into full blocks, as run_mlm.py of transformers does: each document
// is tokenized with the model's special tokens. 1,000 documents are laid end to end and cut, and
// the rest of them is dropped. If no block would be full, there is one that is not full.
//
// A block is a row of `joined`, with token ids in place of a text. Its labels are the ends of its
// sequences, which DocumentFeatures reads. It has the number of its first document.
// Returns the most sequences of a block. Throws what the tokenizer does.
int64_t join_documents(const ExampleTable& table, std::span<const uint32_t> rows,
                       const Tokenizer& tokenizer, const JoinOptions& options,
                       ExampleTable& joined);

// Whether the rows of a table hold token ids that are masked already.
bool holds_masked(const ExampleTable& table);
// The most masked tokens of a row of such a table; 0 for other tables. Reads all rows.
int64_t most_masked(const ExampleTable& table);

// Whether the rows of a table hold texts, and not token ids.
bool holds_texts(const ExampleTable& table);

}  // namespace berth
