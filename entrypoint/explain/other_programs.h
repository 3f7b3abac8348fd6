#pragma once

#include "entrypoint/explain/launch.h"
#include "entrypoint/explain/python_reader.h"

namespace berth {

// Names the library of a program that trains without the TrainingArguments of transformers, and
// what of berth does its work. It adds nothing where it knows no such library.
void name_other_library(const PythonProgram& program, Launch& launch);

}  // namespace berth
