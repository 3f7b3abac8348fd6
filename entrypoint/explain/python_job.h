#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "entrypoint/explain/explain.h"
#include "entrypoint/explain/launch.h"

namespace berth {

// The training of a Python program, as a line of flags: the TrainingArguments of transformers or
// sentence-transformers, the model, the data set and the length of texts that it names as literals.
// Computed values, and features that berth does not have, are refused in the remarks. nullopt: the
// program has no such arguments, and berth knows no library that it trains with. `flags` are the
// line's. Flags that the program reads by argparse are taken out, and their values are what it
// names. Throws kUsage where the text cannot be read, or has more than 10,000 calls.
std::optional<Launch> find_python_job(std::string_view program, std::vector<std::string>& flags);

// A program that is no known script may be a file here, which says what it trains. Flags of the
// line follow what the file says. Leaves other launches as they are.
void read_program(const ReadFile& read_file, Launch& launch);

}  // namespace berth
