#pragma once

#include <string>

#include "entrypoint/explain/launch.h"
#include "entrypoint/explain/python_reader.h"

namespace berth {

// Adds the flags of the modules that a program of sentence-transformers puts together itself:
// models.Transformer, models.Pooling and models.Normalize. Other modules are refused. Returns the
// name of the encoder; empty: the program makes no module.
std::string read_sentence_modules(const PythonProgram& program, Launch& launch);

// Adds the flags of `prompts` of the training arguments: a text for all columns, or a text for each
// of some columns. Refuses names of columns that do not say which text of a row they hold.
void read_prompts(const PythonValue& prompts, Launch& launch);

// Refuses the arguments of a call of SentenceTransformer that change a model.
void check_sentence_model(const PythonCall& call, Launch& launch);

}  // namespace berth
