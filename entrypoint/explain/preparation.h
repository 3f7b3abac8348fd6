#pragma once

#include <string>
#include <string_view>

#include "entrypoint/explain/shell_text.h"

namespace berth {

// Whether a script of this name prepares files for a training, and trains nothing itself:
// "preprocess.py", "convert_to_conll.py".
bool prepares_files(std::string_view script);

// What a command that starts no training may prepare for one, as its first words: "bash
// prepare.sh", "cut -d". Empty: it writes no rows, as far as its program is known.
std::string preparation_in(const ShellCommand& command);

}  // namespace berth
