#pragma once

#include "entrypoint/explain/launch.h"
#include "entrypoint/explain/python_reader.h"

namespace berth {

// Finds how a program of token classification gives the tags of words to their tokens. berth gives
// the tag of a word to its first token, and the others count nothing. Any other way is refused, and
// so is one that the program does not show.
void check_token_tags(const PythonProgram& program, Launch& launch);

}  // namespace berth
