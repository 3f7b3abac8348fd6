#pragma once

#include <string>

#include "entrypoint/explain/launch.h"
#include "entrypoint/explain/python_reader.h"

namespace berth {

// Adds the flags of the modules that a program of sentence-transformers puts together itself:
// models.Transformer, models.Pooling and models.Normalize. Other modules are refused. Returns the
// name of the encoder; empty: the program makes no module.
std::string read_sentence_modules(const PythonProgram& program, Launch& launch);

// Refuses the arguments of a call of SentenceTransformer that change a model.
void check_sentence_model(const PythonCall& call, Launch& launch);

}  // namespace berth
