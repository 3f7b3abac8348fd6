#pragma once

#include "entrypoint/explain/launch.h"
#include "entrypoint/explain/python_reader.h"

namespace berth {

// Adds the flags of the losses that a program of sentence-transformers makes: --similarity-loss and
// its settings. A loss that berth does not have, and an argument that changes one in another way,
// is refused.
void read_sentence_losses(const PythonProgram& program, Launch& launch);

}  // namespace berth
