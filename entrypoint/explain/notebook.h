#pragma once

#include <string>
#include <string_view>

namespace berth {

// The program in the code cells of a Jupyter notebook, without its magic commands. Throws kUsage
// where the text is no notebook.
std::string notebook_program(std::string_view json);

// The shell commands in the code cells of a Jupyter notebook: its lines behind `!`, and cells with
// %%bash. A Python name in braces, {name}, becomes ${name}. Throws as notebook_program().
std::string notebook_commands(std::string_view json);

}  // namespace berth
