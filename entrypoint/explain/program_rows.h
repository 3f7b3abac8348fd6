#pragma once

#include <string>
#include <string_view>

#include "entrypoint/explain/launch.h"
#include "entrypoint/explain/python_reader.h"

namespace berth {

// What a program does with the rows of its data set before it trains.
struct ProgramRows {
  const PythonProgram& program;
  std::string_view task;   // "token_classification"; empty: it is not known
  std::string_view model;  // as the program names it; empty: it is computed
  bool is_similarity = false;
};

// Adds the flags of the columns that the program tokenizes, and of how it does so. Refuses code
// that leaves rows out, changes texts or labels, or has another tokenizer than the model's.
void read_rows(const ProgramRows& rows, Launch& launch);

// Whether the program joins its tokenized rows and cuts them into blocks, by a function that it
// maps and whose name says so.
bool joins_texts(const PythonProgram& program);

}  // namespace berth
