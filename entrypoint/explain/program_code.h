#pragma once

#include "entrypoint/explain/launch.h"
#include "entrypoint/explain/python_reader.h"

namespace berth {

// Adds the flags of callbacks, adapters and masks that a program makes. Code of its own that
// changes the model, the loss, the batches or the parameters that train is refused.
void read_own_code(const PythonProgram& program, bool is_similarity, Launch& launch);

}  // namespace berth
