#pragma once

#include "entrypoint/explain/launch.h"
#include "entrypoint/explain/python_reader.h"

namespace berth {

// Adds the flags of `fit`, a call of model.fit(train_objectives=[...]) of sentence-transformers
// before version 3. Arguments that berth does not read are remarks, and refused.
void read_fit(const PythonProgram& program, const PythonCall& fit, Launch& launch);

}  // namespace berth
