#pragma once

#include <string>
#include <string_view>

#include "entrypoint/explain/shell_text.h"

namespace berth {

// Whether a script of this name prepares files for a training, and trains nothing itself:
// "preprocess.py", "convert_to_conll.py".
bool prepares_files(std::string_view script);

// The first words of a command that starts no training and may prepare files for one: "bash
// prepare.sh", "cut -d". Empty: its program is known, and writes no rows.
std::string preparation_in(const ShellCommand& command);

}  // namespace berth
